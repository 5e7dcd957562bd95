#ifndef TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "model/engine.h"
#include "model/kernels/activation.h"
#include "model/kernels/row_ops.h"
#include "model/transformer/attention_description.h"
#include "model/transformer/layer_description.h"
#include "model/weights/weights.h"

namespace trivium {

// One Transformer as data. families/<name>.cc converts config.json and the
// weights into a TransformerDescription; transformer/ computes it. Families
// have no forward pass of their own.

enum class PositionEncoding {
  kNone,  // none at the input; attention has them (DeBERTa, rotary)
  // Marian's table: sines in the first half of the dimensions, cosines in the
  // second. The frequency of pair i is 10000^(-2i / d_model).
  kSinusoidal,
  // M2M-100's table: as above with frequencies 10000^(-i / (d_model / 2 - 1)),
  // the last of which is 1 / 10000. The row of position_padding_id is zero.
  kSinusoidalToEnd,
  kLearned,  // EmbeddingTensors::positions
};

// `width` equals d_model unless there is a projection.
struct EmbeddingTensors {
  const TensorView* tokens = nullptr;  // [vocabulary, width]
  // Only for kLearned: [positions, width], or [positions, d_model] if they are
  // added after the projection (OPT).
  const TensorView* positions = nullptr;
  const TensorView* types = nullptr;  // [type_vocabulary, width] or null
  // [d_model, width], after the embedding norm (ALBERT, ELECTRA).
  std::optional<LinearTensors> projection;
  // True: the projection reads the token's embedding alone. Positions and types
  // are [.., d_model], and they and the norm come behind it (MobileBERT).
  bool projects_tokens = false;
  // True: the projection is [d_model, 3 width] and reads the embeddings of the
  // next token, of this one and of the one before, zeros beyond the text. Needs
  // projects_tokens and an encoder.
  bool trigrams = false;
};

// An input of each layer that depends on the token and on the first layer's
// input x (Gemma 4's per-layer embeddings). e is [layers, width]; the norm is
// applied to each layer's part:
//   e = norm(W x) + scale * row of `tokens`
struct TokenInputsDescription {
  int width = 0;
  const TensorView* tokens = nullptr;  // [vocabulary or more, layers x width]
  // Not null: rows are read where the tensor is, in these weights, which must
  // outlive the Transformer. Null: the tensor is copied.
  const Weights* in_place = nullptr;
  float scale = 1;
  LinearTensors projection;  // [layers x width, d_model]
  NormTensors norm;          // [width]
  float norm_epsilon = 1e-6f;
};

// Tells the global tokens of a source, see GlobalAttentionDescription.
struct GlobalTokens {
  // Those before the first token with this id, and none without such a token;
  // if not set, the first token alone.
  std::optional<int32_t> end_id = std::nullopt;
};

// The layers of an encoder or decoder, with its input embeddings.
struct StackDescription {
  int layers = 0;
  int d_model = 0;
  int heads = 0;  // of queries in every layer
  int feed_forward = 0;
  int vocabulary = 0;
  int max_positions = 0;
  Activation activation = Activation::kRelu;
  std::optional<GateClip> gate_clip;  // replaces the activation and its gate
  float norm_epsilon = 1e-5f;
  PositionEncoding positions = PositionEncoding::kSinusoidal;
  // Row of the first position in the table.
  int position_offset = 0;
  // Tokens with this id do not advance the position: they use the row with the
  // number of this id, and the next token continues where they came (RoBERTa).
  std::optional<int32_t> position_padding_id;
  int type_vocabulary = 0;       // number of segments; 0: no segment embeddings
  float embedding_scale = 1.0f;  // sqrt(d_model) if the config says so

  std::optional<RelativeAttentionDescription> relative_attention;
  // Chosen by each layer's AttentionGeometry::rotary.
  std::vector<RotaryDescription> rotary;
  std::optional<GlobalTokens> global_tokens = std::nullopt;

  EmbeddingTensors embeddings;
  std::optional<NormTensors> embedding_norm;  // applied to the sum
  // True: embedding_norm is applied to the sum without positions, which are
  // then added to its output (the decoder of Blenderbot Small).
  bool positions_after_norm = false;
  std::optional<TokenInputsDescription> token_inputs = std::nullopt;
  // [layers]. Layers whose tensors are all the same are packed once (ALBERT).
  std::vector<LayerDescription> layer;
  std::optional<NormTensors> final_norm;  // applied after the last layer
};

// The pooled output of an encoder: y = activation(W x + b), where x is the
// final state of the first token (BERT).
struct PoolerDescription {
  LinearTensors dense;  // [out, d_model]
  Activation activation = Activation::kTanh;
};

// logits = W norm(activation(D x + d)) + b, where x is a final state, their
// mean or the pooled output; D and the norm are optional.
struct HeadDescription {
  enum class Input {
    kPooled,
    kFirstToken,
    kLastToken,    // the last one that is no padding, see padding_id
    kMean,         // the mean of all final states
    kMeanOfDense,  // the mean over all tokens of activation(D x + d); no norm
    kEveryToken
  };

  HeadKind kind = HeadKind::kClassify;
  Input input = Input::kEveryToken;
  std::optional<LinearTensors> dense;
  Activation activation = Activation::kNone;
  std::optional<NormTensors> norm;
  LinearTensors output;  // [outputs, width of its input]
  // The id that kLastToken skips at the end of a text. If there is nothing
  // else, it reads the first token.
  std::optional<int32_t> padding_id = std::nullopt;
  // If set, kLastToken reads the last token with this id instead, if there is
  // one (BART).
  std::optional<int32_t> end_id = std::nullopt;
  // Set if sparse embeddings are made of the logits; kFillMask only.
  std::optional<VocabularyPooling> sparse = std::nullopt;
};

// A decoder that reads a source once more, for the head: its tokens are the
// source's own, moved by one place behind start_id, and it sees the encoder's
// final states (BART's and T5's classifiers). Its state at position i belongs
// to source token i. As wide as the encoder.
struct SecondReadingDescription {
  StackDescription stack;  // causal, with cross-attention in every layer
  int32_t start_id = 0;
};

class Shortlist;

struct TransformerDescription {
  std::optional<StackDescription> encoder;
  std::optional<StackDescription> decoder;
  // Only for encoder-only models with a head that has no pooled input.
  std::optional<SecondReadingDescription> second_reading;
  // logits = x W^T + bias. weight is [vocabulary, d_model], often the tied
  // token embeddings; bias is [vocabulary], [1, vocabulary] or null.
  LinearTensors output_projection;
  // [width, d_model]. Narrows x before output_projection, whose weight is then
  // [vocabulary, width] (OPT).
  std::optional<LinearTensors> output_narrowing;
  // Multiplies x before output_projection (Granite, Cohere).
  float logit_factor = 1;
  // If above 0, a logit l becomes logit_soft_cap tanh(l / logit_soft_cap)
  // (Gemma 2).
  float logit_soft_cap = 0;
  // Restricts the target tokens of each source, see shortlist.h; null: no
  // restriction.
  std::shared_ptr<const Shortlist> shortlist;
  // Only for encoder-only models.
  std::optional<PoolerDescription> pooler;
  std::optional<HeadDescription> head;
  // Owns the tensors that were assembled from a checkpoint's own.
  std::vector<std::shared_ptr<const void>> memory;
};

// Calls `visit` for every tensor of a description; tied ones are visited
// repeatedly.
void ForEachTensor(const TransformerDescription& description,
                   absl::FunctionRef<void(const TensorView&)> visit);
// Returns the number of elements of all tensors; tied ones count once.
int64_t CountParameters(const TransformerDescription& description);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_
