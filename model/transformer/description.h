#ifndef TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "model/engine.h"
#include "model/kernels/activation.h"
#include "model/kernels/attention.h"
#include "model/kernels/row_ops.h"
#include "model/weights/weights.h"

namespace trivium {

// The one Transformer, as data. families/<name>.cc reads config.json and the
// weights into a TransformerDescription; transformer/ computes it. A family
// has no forward pass of its own.

enum class PositionEncoding {
  kNone,  // none at the input: the attention knows (DeBERTa, rotary positions)
  // Marian's table: sin of the first half of the dimensions, cos of the
  // second; frequency of pair i is 10000^(-2i / d_model).
  kSinusoidal,
  // M2M-100's: as above with frequencies 10000^(-i / (d_model / 2 - 1)), the
  // last of which is 1 / 10000; position_padding_id's row is zero.
  kSinusoidalToEnd,
  kLearned,  // EmbeddingTensors::positions
};

// A linear layer y = x W^T + b. weight [out, in]; bias [out] or null.
struct LinearTensors {
  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;

  bool operator==(const LinearTensors&) const = default;
};

// weight [d_model]; bias [d_model] or null.
struct NormTensors {
  // Layer normalization (Ba et al. 2016), or by the root mean square, which has
  // no bias (Zhang and Sennrich 2019).
  enum class Kind { kLayer, kRms };

  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;
  Kind kind = Kind::kLayer;
  bool one_plus_weight = false;  // what is multiplied with (Gemma)

  bool operator==(const NormTensors&) const = default;
};

// The norms of a sublayer f, of which a model has one or two:
//   x = after(x + of_output(f(before(x))))
// The original Transformer, BERT and Marian have `after`; GPT-2, LLaMA and
// mBART `before`; OLMo 2 `of_output`; Gemma 2 `before` and `of_output`.
struct SublayerNorms {
  std::optional<NormTensors> before, of_output, after;

  bool operator==(const SublayerNorms&) const = default;
};

// Rotary positions (Su et al. 2021): pair i of a query's or a key's dimensions
// is turned by position * frequencies[i], see kernels/rotary.h. Only the first
// 2 x pairs dimensions of a head are turned.
struct RotaryDescription {
  std::vector<float> frequencies;  // [pairs], in radians a token
  float magnitude = 1;  // of cosines and sines (YaRN, Peng et al. 2023)
  // Where they differ from those that the model's authors would give a text, a
  // sentence for whoever serves it; empty: nowhere.
  std::string caveat = {};

  int64_t bytes() const {
    return static_cast<int64_t>(frequencies.size() * sizeof(float));
  }
};

// How a layer's queries read keys and values (Vaswani et al. 2017). A head of
// keys and values serves one head of queries or several (Ainslie et al. 2023);
// heads x head_size need not be d_model.
struct AttentionGeometry {
  int heads = 0;     // of queries
  int kv_heads = 0;  // divides heads
  int head_size = 0;
  float scale = 1;  // of q . k
  // A query sees the keys from `look_back` before its own place to
  // `look_ahead` behind it, as far as there are any: a decoder's self-attention
  // is causal and looks 0 ahead, a window of w keys looks w - 1 back, and
  // cross-attention sees all.
  int look_back = kAllKeys;
  int look_ahead = kAllKeys;
  // Which of the stack's rotary positions turn queries and keys.
  static constexpr int kNoRotary = -1;
  int rotary = kNoRotary;

  // Every head with its share of d_model and keys and values of its own,
  // scaled by 1 / sqrt(head size).
  static AttentionGeometry Even(int d_model, int heads);
  // Numbers of a token's queries, and of its keys or its values.
  int query_width() const { return heads * head_size; }
  int kv_width() const { return kv_heads * head_size; }

  bool operator==(const AttentionGeometry&) const = default;
};

struct AttentionDescription {
  AttentionGeometry geometry;
  // [query_width, d_model], twice [kv_width, d_model], [d_model, query_width].
  LinearTensors query, key, value, output;
  // Of each head, before it is turned, with weights [head_size] (Qwen 3).
  std::optional<NormTensors> query_norm = std::nullopt, key_norm = std::nullopt;
  const TensorView* sinks = nullptr;  // [heads], see kernels/attention.h

  bool operator==(const AttentionDescription&) const = default;
};

// Attention that knows how far query i and key j are apart. With row x of the
// distance i - j:
//   score = scale * (q_i . k_j + q_i . K_x + k_j . Q_x) + b_x
// where K = relative embeddings W_k and Q = relative embeddings W_q are a
// layer's own (DeBERTa's "disentangled" attention, He et al. 2020: content to
// position and position to content) and b is the same in all layers (T5,
// Raffel et al. 2019). What a model lacks is null.
struct RelativeAttentionDescription {
  enum class Buckets {
    kEach,         // a row for each distance from -span to span - 1
    kLogarithmic,  // rows from -span to span - 1: one for each near distance,
                   // fewer and fewer for far ones (DeBERTa v2)
    kT5,           // span rows, half of them for keys after the query, nearly
                   // as above (Raffel et al. 2019)
    kT5Past,       // the same where no key is after the query: all span rows
                   // for those before it
  };
  Buckets buckets = Buckets::kEach;
  int span = 0;
  int max_distance = 0;  // farther ones share the last row; not for kEach
  const TensorView* embeddings = nullptr;  // [2 span, d_model]
  std::optional<NormTensors> norm;         // of the embeddings
  const TensorView* bias = nullptr;        // [span, heads]
};

// A mixture of experts (Shazeer et al. 2017): of many gated feed-forwards, a
// token goes through those few whose logits W x are the greatest.
struct ExpertTensors {
  LinearTensors gate, up, down;  // as LayerDescription's

  bool operator==(const ExpertTensors&) const = default;
};
struct ExpertsDescription {
  LinearTensors router;  // [experts, d_model]
  int chosen = 0;        // of a token
  // Whether their outputs are weighed with the softmax of all logits, of which
  // they have a part; else with that of the chosen ones' (Jiang et al. 2024).
  bool over_all = false;
  std::vector<ExpertTensors> experts;

  bool operator==(const ExpertsDescription&) const = default;
};

// A recurrence instead of a decoder's self-attention, the Simpler Simple
// Recurrent Unit (Kim et al. 2019, "From Research to Production and Back"):
//   f_t = sigmoid(W_f x_t), c_t = f_t c_(t - 1) + (1 - f_t) W_i x_t
//   y_t = max(c_t, 0)
// from c of zeros. Both are [d_model, d_model], with or without a bias.
struct RecurrenceDescription {
  LinearTensors input, forget;

  bool operator==(const RecurrenceDescription&) const = default;
};

struct LayerDescription {
  AttentionDescription self_attention;
  // Instead of self_attention, of which the geometry and the norms count: a
  // token's state is kept where its key and value would be.
  std::optional<RecurrenceDescription> recurrence;
  // W_k and W_q of the stack's relative attention, if it has them,
  // [query_width, d_model].
  std::optional<LinearTensors> position_key, position_query;
  SublayerNorms self_attention_norms;
  // In decoder layers of encoder-decoder models.
  std::optional<AttentionDescription> cross_attention;
  SublayerNorms cross_attention_norms;
  // W_down activation(W_up x), or gated W_down (activation(W_gate x) * W_up x)
  // (Shazeer 2020). [ffn, d_model] both, and [d_model, ffn].
  std::optional<LinearTensors> gate;
  LinearTensors up, down;
  // Instead of these three.
  std::optional<ExpertsDescription> experts;
  SublayerNorms feed_forward_norms;

  bool operator==(const LayerDescription&) const = default;
};

// `width` is d_model unless there is a projection.
struct EmbeddingTensors {
  const TensorView* tokens = nullptr;  // [vocabulary, width]
  // If kLearned: [positions, width], or [positions, d_model] where they are
  // added behind the projection (OPT).
  const TensorView* positions = nullptr;
  const TensorView* types = nullptr;  // [type_vocabulary, width] or null
  // [d_model, width], after the embedding norm (ALBERT, ELECTRA).
  std::optional<LinearTensors> projection;
};

// An encoder's or a decoder's layers with their input embeddings.
struct StackDescription {
  int layers = 0;
  int d_model = 0;
  int heads = 0;  // of queries in every layer
  int feed_forward = 0;
  int vocabulary = 0;
  int max_positions = 0;
  Activation activation = Activation::kRelu;
  std::optional<GateClip> gate_clip;  // instead of the activation and its gate
  float norm_epsilon = 1e-5f;
  PositionEncoding positions = PositionEncoding::kSinusoidal;
  // The row of the first position in the table.
  int position_offset = 0;
  // Tokens with this id take no position: they read the row of that number,
  // and the next token goes on where they came (RoBERTa).
  std::optional<int32_t> position_padding_id;
  int type_vocabulary = 0;       // segments; 0: no segment embeddings
  float embedding_scale = 1.0f;  // sqrt(d_model) where the config says so

  std::optional<RelativeAttentionDescription> relative_attention;
  std::vector<RotaryDescription>
      rotary;  // layers choose, see AttentionGeometry

  EmbeddingTensors embeddings;
  std::optional<NormTensors> embedding_norm;  // right after the sum
  // [layers]. Equal layers, all tensors of which are the same, are packed
  // once (ALBERT).
  std::vector<LayerDescription> layer;
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
  enum class Input { kPooled, kFirstToken, kLastToken, kEveryToken };

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
  // [width, d_model]: what narrows x before that, where the weight is
  // [vocabulary, width] (OPT).
  std::optional<LinearTensors> output_narrowing;
  // What sources may be translated to; null: anything. See shortlist.h.
  std::shared_ptr<const Shortlist> shortlist;
  // Of encoder-only models.
  std::optional<PoolerDescription> pooler;
  std::optional<HeadDescription> head;
  // Of tensors that had to be put together out of a checkpoint's own.
  std::vector<std::shared_ptr<const void>> memory;
};

// Every tensor that a description has; tied ones come more than once.
void ForEachTensor(const TransformerDescription& description,
                   absl::FunctionRef<void(const TensorView&)> visit);
// Elements of all tensors; tied ones count once.
int64_t CountParameters(const TransformerDescription& description);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_
