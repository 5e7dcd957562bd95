#ifndef TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/engine.h"
#include "model/kernels/activation.h"
#include "model/weights/weights.h"

namespace trivium {

// The one Transformer, as data. families/<name>.cc reads config.json and the
// weights into a TransformerDescription; transformer/ computes it. A family
// has no forward pass of its own.

// Where layer norm stands: after each residual sum (the original Transformer,
// BERT, Marian) or before each sublayer (GPT-2, LLaMA, mBART).
enum class NormPlacement { kAfter, kBefore };

enum class PositionEncoding {
  kNone,  // none at the input: the attention knows (DeBERTa)
  // Marian's table: sin of the first half of the dimensions, cos of the
  // second; frequency of pair i is 10000^(-2i / d_model).
  kSinusoidal,
  kLearned,  // EmbeddingTensors::positions
};

// A linear layer y = x W^T + b. weight [out, in]; bias [out] or null.
struct LinearTensors {
  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;
};

// weight and bias [d_model].
struct NormTensors {
  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;
};

struct AttentionTensors {
  LinearTensors query, key, value, output;
};

// Attention that knows how far query i and key j are apart. With row x of the
// distance i - j:
//   score = (q_i . k_j + q_i . K_x + k_j . Q_x) / sqrt(terms * head size) + b_x
// where K = relative embeddings W_k and Q = relative embeddings W_q are a
// layer's own (DeBERTa's "disentangled" attention, He et al. 2020: content to
// position and position to content) and b is the same in all layers (MPNet,
// Song et al. 2020). What a model lacks is null.
struct RelativeAttentionDescription {
  enum class Buckets {
    kEach,         // a row for each distance from -span to span - 1
    kLogarithmic,  // rows from -span to span - 1: one for each near distance,
                   // fewer and fewer for far ones (DeBERTa v2)
    kT5,           // span rows, half of them for keys after the query, nearly
                   // as above (Raffel et al. 2019)
  };
  Buckets buckets = Buckets::kEach;
  int span = 0;
  int max_distance = 0;  // farther ones share the last row; not for kEach
  int terms = 1;
  const TensorView* embeddings = nullptr;  // [2 span, d_model]
  std::optional<NormTensors> norm;         // of the embeddings
  const TensorView* bias = nullptr;        // [span, heads]
};

struct LayerTensors {
  AttentionTensors self_attention;
  // W_k and W_q of the stack's relative attention, if it has them.
  std::optional<LinearTensors> position_key, position_query;
  NormTensors self_attention_norm;
  // In decoder layers of encoder-decoder models.
  std::optional<AttentionTensors> cross_attention;
  NormTensors cross_attention_norm;
  LinearTensors up, down;  // [ffn, d_model], [d_model, ffn]
  NormTensors feed_forward_norm;
};

// `width` is d_model unless there is a projection.
struct EmbeddingTensors {
  const TensorView* tokens = nullptr;     // [vocabulary, width]
  const TensorView* positions = nullptr;  // [positions, width] if kLearned
  const TensorView* types = nullptr;      // [type_vocabulary, width] or null
  // [d_model, width], after the embedding norm (ALBERT, ELECTRA).
  std::optional<LinearTensors> projection;
};

// An encoder's or a decoder's layers with their input embeddings.
struct StackDescription {
  int layers = 0;
  int d_model = 0;
  int heads = 0;  // head size is d_model / heads
  int feed_forward = 0;
  int vocabulary = 0;
  int max_positions = 0;
  Activation activation = Activation::kRelu;
  NormPlacement norm_placement = NormPlacement::kAfter;
  float norm_epsilon = 1e-5f;
  PositionEncoding positions = PositionEncoding::kSinusoidal;
  // The row of the first position in the table of learned ones.
  int position_offset = 0;
  // Tokens with this id take no position: they read the row of that number,
  // and the next token goes on where they came (RoBERTa).
  std::optional<int32_t> position_padding_id;
  int type_vocabulary = 0;       // segments; 0: no segment embeddings
  float embedding_scale = 1.0f;  // sqrt(d_model) where the config says so

  std::optional<RelativeAttentionDescription> relative_attention;

  EmbeddingTensors embeddings;
  std::optional<NormTensors> embedding_norm;  // right after the sum
  // [layers]. Layers that have the same tensors are packed once (ALBERT).
  std::vector<LayerTensors> layer;
  std::optional<NormTensors> final_norm;  // after the last layer
};

// The pooled output of an encoder: y = activation(W x + b) of the first
// token's final state x (BERT).
struct PoolerDescription {
  LinearTensors dense;  // [out, d_model]
  Activation activation = Activation::kTanh;
};

// logits = W norm(activation(D x + d)) + b, where D and the norm are optional
// and x is a final state or the pooled output.
struct HeadDescription {
  enum class Input { kPooled, kFirstToken, kEveryToken };

  HeadKind kind = HeadKind::kClassify;
  Input input = Input::kEveryToken;
  std::optional<LinearTensors> dense;
  Activation activation = Activation::kNone;
  std::optional<NormTensors> norm;
  LinearTensors output;  // [outputs, width of what it reads]
};

class Shortlist;

struct TransformerDescription {
  std::optional<StackDescription> encoder;
  std::optional<StackDescription> decoder;
  // logits = x W^T + bias: weight [vocabulary, d_model], often the tied token
  // embeddings; bias [vocabulary] or [1, vocabulary] or null.
  LinearTensors output_projection;
  // What sources may be translated to; null: anything. See shortlist.h.
  std::shared_ptr<const Shortlist> shortlist;
  // Of encoder-only models.
  std::optional<PoolerDescription> pooler;
  std::optional<HeadDescription> head;
  // Of tensors that had to be put together out of a checkpoint's own.
  std::vector<std::shared_ptr<const void>> memory;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_
