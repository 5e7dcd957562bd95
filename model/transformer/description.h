#ifndef TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_DESCRIPTION_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "model/engine.h"
#include "model/kernels/activation.h"
#include "model/kernels/attention.h"
#include "model/kernels/kv_tile.h"
#include "model/kernels/row_ops.h"
#include "model/kernels/state_step.h"
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

// A linear layer y = x W^T + b. weight [out, in]; bias [out] or null.
struct LinearTensors {
  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;

  bool operator==(const LinearTensors&) const = default;
};

// weight [d_model]; bias [d_model] or null.
struct NormTensors {
  // Layer normalization (Ba et al. 2016) or root mean square normalization,
  // which has no bias (Zhang and Sennrich 2019).
  enum class Kind { kLayer, kRms };

  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;
  Kind kind = Kind::kLayer;
  bool one_plus_weight = false;  // multiply by 1 + weight (Gemma)

  bool operator==(const NormTensors&) const = default;
};

// The norms of a sublayer f; a model has one or two of them:
//   x = after(x + factor of_output(f(before(x))))
// The original Transformer, BERT and Marian have `after`; GPT-2, LLaMA and
// mBART `before`; OLMo 2 `of_output`; Gemma 2 `before` and `of_output`.
struct SublayerNorms {
  std::optional<NormTensors> before, of_output, after;
  float factor = 1;  // of the residual connection (Granite)

  bool operator==(const SublayerNorms&) const = default;
};

// Rotary positions (Su et al. 2021): pair i of the dimensions of a query or key
// is turned by position * frequencies[i], see kernels/rotary.h. Only the first
// 2 x pairs dimensions of a head are turned.
struct RotaryDescription {
  std::vector<float> frequencies;  // [pairs], in radians a token
  float magnitude = 1;  // scales cosines and sines (YaRN, Peng et al. 2023)
  // The query at position p is multiplied by
  //   1 + query_growth ln(1 + floor(p / growth_length))
  // so that attention over long texts stays sharp (Llama 4, Ministral 3).
  float query_growth = 0;
  int growth_length = 1;  // tokens
  // What models multiply their scores' scale by if they ask for it, the square
  // of YaRN's magnitude for mscale_all_dim (DeepSeek).
  float score_factor = 1;
  // Tells whoever serves the model, in one sentence, which texts get other
  // frequencies than its authors intended; empty if none do.
  std::string caveat = {};

  int64_t bytes() const {
    return static_cast<int64_t>(frequencies.size() * sizeof(float));
  }
};

// The way a layer's queries read keys and values (Vaswani et al. 2017). One
// key-value head serves one or several query heads (Ainslie et al. 2023). heads
// x head_size need not equal d_model.
struct AttentionGeometry {
  int heads = 0;     // of queries
  int kv_heads = 0;  // divides heads
  int head_size = 0;
  float scale = 1;  // multiplies q . k
  // If above 0, a scaled score s becomes soft_cap tanh(s / soft_cap) (Gemma 2).
  float soft_cap = 0;
  // A query sees the keys from `look_back` positions before its own to
  // `look_ahead` after it, where they exist. A decoder's causal self-attention
  // has look_ahead 0, a window of w keys has look_back w - 1, and
  // cross-attention sees all keys.
  int look_back = kAllKeys;
  int look_ahead = kAllKeys;
  // Index of the StackDescription::rotary that turns queries and keys.
  static constexpr int kNoRotary = -1;
  int rotary = kNoRotary;
  // Index of the earlier layer whose keys and values this layer reads, which
  // then makes none; that layer makes its own, of the same shape and for the
  // same look_back (Gemma 4). Only in decoders.
  static constexpr int kOwnKeys = -1;
  int reads = kOwnKeys;
  // True: a value is its key (LatentDescription), which is stored once.
  bool values_are_keys = false;

  // Returns `heads` heads of d_model / heads dimensions, each with its own keys
  // and values, scaled by 1 / sqrt(head size).
  static AttentionGeometry Even(int d_model, int heads);
  // Floats of a token's queries, and of its keys or its values.
  int query_width() const { return heads * head_size; }
  int kv_width() const { return kv_heads * head_size; }
  // The shape of stored keys and values.
  KvShape kv_shape(KvType type) const {
    return {type, kv_heads, head_size, values_are_keys};
  }

  bool operator==(const AttentionGeometry&) const = default;
};

// Multi-head latent attention ("DeepSeek-V2", DeepSeek-AI 2024). The keys and
// values of all heads are linear in one vector c of a token, [rank], but for a
// key k, [turned], that all heads share and that has rotary positions. A head's
// query is [t, p], of which t, [turned], has rotary positions, too:
//   score = scale (t . k + p . K_h c),  output = V_h (sum of weights c)
// Since p . K_h c = K_h^T p . c, the one key-value head [k, c] is stored for a
// token, and a head's query is [t, K_h^T p]: head_size is turned + rank,
// kv_heads 1, and values are keys. Rotary positions turn halves of k and t.
//
// AttentionDescription's query is then [heads x (turned + plain), d_model] or
// behind query_down, key [turned + rank, d_model] makes [k, c], there is no
// value, and output is [d_model, heads x value].
struct LatentDescription {
  int rank = 0;
  int turned = 0;
  int plain = 0;  // dimensions of p
  int value = 0;  // of a head's output
  std::optional<LinearTensors> query_down = std::nullopt;
  std::optional<NormTensors> query_norm = std::nullopt;  // behind query_down
  NormTensors norm;                                      // of c
  float norm_epsilon = 1e-6f;                            // of these two
  std::vector<LinearTensors> key_up;    // [heads] of K_h^T, [rank, plain]
  std::vector<LinearTensors> value_up;  // [heads] of V_h, [value, rank]

  bool operator==(const LatentDescription&) const = default;
};

struct AttentionDescription {
  AttentionGeometry geometry;
  // Shapes: query [query_width, d_model], key and value [kv_width, d_model],
  // output [d_model, query_width]. Without a value, values are what the key's
  // product is before its norm and rotary positions (Gemma 4).
  LinearTensors query, key, value, output;
  // Applied to each head, weights [head_size] (Qwen 3), or to all heads
  // together, weights [query_width] and [kv_width] (OLMo 2).
  std::optional<NormTensors> query_norm = std::nullopt, key_norm = std::nullopt;
  // True: applied after rotary positions (Hunyuan), else before them.
  bool norms_after_rotary = false;
  const TensorView* sinks = nullptr;  // [heads], see kernels/attention.h
  // Applied to each head of values, weight [head_size] (Gemma 4).
  std::optional<NormTensors> value_norm = std::nullopt;
  std::optional<LatentDescription> latent = std::nullopt;
  // [query_width, d_model]. If set, what the output layer reads is multiplied
  // by sigmoid(gate x), x being what the queries read (Qwen3-Next).
  std::optional<LinearTensors> gate = std::nullopt;

  bool operator==(const AttentionDescription&) const = default;
};

// Attention whose scores depend on the distance i - j between query i and key
// j. With x the table row of that distance:
//   score = scale * (q_i . k_j + q_i . K_x + k_j . Q_x) + b_x
// Each layer has its own K = relative embeddings W_k and Q = relative
// embeddings W_q (DeBERTa's "disentangled" attention, He et al. 2020: content
// to position and position to content). b is the same in all layers (T5, Raffel
// et al. 2019). Parts that a model lacks are null.
struct RelativeAttentionDescription {
  enum class Buckets {
    kEach,  // one row per distance from -span to span - 1
    // Rows -span to span - 1: one per near distance, increasingly coarse for
    // far ones (DeBERTa v2).
    kLogarithmic,
    // span rows, half of them for keys after the query; spaced almost as above
    // (Raffel et al. 2019).
    kT5,
    // Like kT5, for attention without keys after the query: all span rows are
    // for earlier keys.
    kT5Past,
  };
  Buckets buckets = Buckets::kEach;
  int span = 0;
  // Farther distances share the last row. Not used by kEach.
  int max_distance = 0;
  const TensorView* embeddings = nullptr;  // [2 span, d_model]
  std::optional<NormTensors> norm;         // applied to the embeddings
  // [span, heads]; null if each layer has its own, see
  // LayerDescription::position_bias.
  const TensorView* bias = nullptr;
  // [heads], replaces `bias` if not empty: b = -slope |i - j| (ALiBi, Press et
  // al. 2022). `buckets` and `span` are not used.
  std::vector<float> slopes = {};
};

struct ExpertTensors {
  LinearTensors gate, up, down;  // as in LayerDescription; gate may be null

  bool operator==(const ExpertTensors&) const = default;
};
// The norms of experts that stand beside a dense feed-forward and read the same
// x as it (Gemma 4):
//   y = of_shared(shared(before x)) + of_experts(sum of experts(of_input x))
struct BesideNorms {
  NormTensors router;  // of the router's input
  NormTensors of_input, of_experts, of_shared;

  bool operator==(const BesideNorms&) const = default;
};
// A mixture of experts (Shazeer et al. 2017): of many feed-forwards, a token
// goes through the few with the greatest scores. With the router's logits r,
// scores s = softmax(r) or sigmoid(r), and C the `chosen` experts whose
// s_e + correction_e are greatest:
//   y = bias + shared gate x shared(x) + sum over e in C of w_e f_e(x)
//   w_e = factor scales_e s_e / n,  n = 1 or the sum of s over C
struct ExpertsDescription {
  enum class Scores { kSoftmax, kSigmoid };

  LinearTensors router;  // [experts, d_model]
  int chosen = 0;        // experts per token
  // True: n = 1. False: n is the sum; with kSoftmax, weights are the softmax
  // over the chosen experts' logits (Jiang et al. 2024).
  bool over_all = false;
  Scores scores = Scores::kSoftmax;
  const TensorView* correction = nullptr;  // [experts] (DeepSeek V3)
  // The experts are `groups` equal groups, of which the `chosen_groups` best
  // take part. A group's score is the greatest s + correction of its experts,
  // or the sum of the two greatest (DeepSeek V2, V3).
  int groups = 1;
  int chosen_groups = 1;
  bool groups_by_two = false;
  float factor = 1;
  const TensorView* scales = nullptr;  // [experts] (Gemma 4)
  std::vector<ExpertTensors> experts;
  const TensorView* bias = nullptr;  // [d_model], added to the weighted sum
  // A feed-forward of every token, as wide as it likes (DeepSeek V2).
  std::optional<ExpertTensors> shared = std::nullopt;
  // [1, d_model]: the shared output is multiplied by sigmoid(shared_gate x)
  // (Qwen 3 Next); null: by 1.
  const TensorView* shared_gate = nullptr;
  // Set if the norms are others than the layer's; needs `shared`.
  std::optional<BesideNorms> beside = std::nullopt;

  bool operator==(const ExpertsDescription&) const = default;
};

// A recurrence that replaces a decoder's self-attention, the Simpler Simple
// Recurrent Unit (Kim et al. 2019, "From Research to Production and Back"):
//   f_t = sigmoid(W_f x_t), c_t = f_t c_(t - 1) + (1 - f_t) W_i x_t
//   y_t = max(c_t, 0)
// The first c is zero. W_f and W_i are [d_model, d_model], with or without a
// bias.
struct RecurrenceDescription {
  LinearTensors input, forget;

  bool operator==(const RecurrenceDescription&) const = default;
};

// A sublayer of a decoder that keeps a state per sequence, of a fixed size,
// instead of a key and a value per token. For its input x_t:
//
//   c_t = activation(bias + sum over i < K of w_i (W_c x)_(t - K + 1 + i))
//
// is a convolution along the tokens, of each channel by itself. Then
//
// kConvolution (LFM2): y_t = (W_z x_t) * c_t. The convolution has no activation
//   here, and reads (W_g x) * (W_c x).
//
// kGatedDelta ("Gated Delta Networks", Yang et al. 2024): c_t is q, k and v.
//   There are `key_heads` heads of q and k, each of which serves the heads /
//   key_heads consecutive heads of v. For each head of v, with
//   q = q / |q| / sqrt(key_size), k = k / |k|,
//   a = exp(-exp(decay) softplus(W_r x_t + rate_bias)), b = sigmoid(W_b x_t):
//     S = a S_(t - 1),  S_t = S + b k (v - S^T k)^T,  o_t = S_t^T q
//
// kStateSpace (Mamba 2, "Transformers are SSMs", Dao and Gu 2024): c_t is v, k
//   and q, called x, B and C there. With
//   r = clamp(softplus(W_r x_t + rate_bias)):
//     S_t = exp(-exp(decay) r) S_(t - 1) + r k v^T,  o_t = S_t^T q + skip v
//
// The last two end with y_t = norm(o_t) * swish(W_z x_t), norm(o_t * swish(W_z
// x_t)), or o_t * swish(W_z x_t). The sublayer's output is W_o y_t.
struct MixerDescription {
  enum class Kind { kConvolution, kGatedDelta, kStateSpace };
  static constexpr int kMostWidth = kMostConvolutionWidth;

  Kind kind = Kind::kConvolution;
  LinearTensors gate;                   // W_z [values, d_model]
  std::vector<LinearTensors> channels;  // W_c [channels, d_model], in parts
  std::optional<LinearTensors> channel_gate;  // W_g [channels, d_model]
  std::optional<LinearTensors> rate, share;   // W_r, W_b [heads, d_model]
  LinearTensors output;                       // W_o [d_model, values]

  int width = 0;                                 // K, at least 2
  const TensorView* convolution = nullptr;       // w [channels, 1, K]
  const TensorView* convolution_bias = nullptr;  // [channels] or null

  Activation activation = Activation::kSwish;  // of the convolution
  // kConvolution has none of these; its channels and values are d_model.
  int heads = 0;                          // of v
  int key_heads = 0;                      // divides heads
  int key_size = 0;                       // of a head's q and k
  int value_size = 0;                     // of a head's v
  const TensorView* decay = nullptr;      // [heads]
  const TensorView* rate_bias = nullptr;  // [heads]
  const TensorView* skip = nullptr;       // [heads], kStateSpace only
  float least_rate = 0;                   // bounds of r, kStateSpace only
  float most_rate = std::numeric_limits<float>::infinity();

  // A root mean square norm of each `norm_size` adjacent values. Its weight is
  // [values], or [norm_size] and shared by all.
  std::optional<NormTensors> norm;
  int norm_size = 0;
  bool norm_after_gate = false;

  int values(int d_model) const {
    return kind == Kind::kConvolution ? d_model : heads * value_size;
  }
  int channel_count(int d_model) const {
    return kind == Kind::kConvolution
               ? d_model
               : 2 * key_heads * key_size + heads * value_size;
  }

  bool operator==(const MixerDescription&) const = default;
};

// What a layer adds of its token's own input e, see TokenInputsDescription:
//   x = x + norm(W_out (activation(W_gate x) * e))
struct TokenInputTensors {
  LinearTensors gate, output;  // [width, d_model], [d_model, width]
  NormTensors norm;

  bool operator==(const TokenInputTensors&) const = default;
};

struct LayerDescription {
  AttentionDescription self_attention;
  // If set, replaces self_attention, of which only the geometry is used;
  // self_attention_norms still apply. A token's state is stored in place of its
  // key and value.
  std::optional<RecurrenceDescription> recurrence;
  // If set, comes before self-attention, reads the same input, and its output
  // is added to x, too (Falcon-H1). Most such layers have no self-attention:
  // then only the geometry of self_attention is used.
  std::optional<MixerDescription> mixer;
  // W_k and W_q of the stack's disentangled attention, if any, [query_width,
  // d_model].
  std::optional<LinearTensors> position_key, position_query;
  // The bias of this layer's relative attention, [span, heads], if layers do
  // not share one (UMT5).
  const TensorView* position_bias = nullptr;
  SublayerNorms self_attention_norms;
  // Set in decoder layers of encoder-decoder models.
  std::optional<AttentionDescription> cross_attention;
  SublayerNorms cross_attention_norms;
  // The feed-forward: W_down activation(W_up x) or, gated, W_down
  // (activation(W_gate x) * W_up x) (Shazeer 2020). gate and up are [ffn,
  // d_model], down is [d_model, ffn].
  std::optional<LinearTensors> gate;
  LinearTensors up, down;
  // If set, replaces gate, up and down.
  std::optional<ExpertsDescription> experts;
  SublayerNorms feed_forward_norms;
  // True: the feed-forward reads what attention reads, the layer's input x, and
  // the layer's output is x + attention(x) + feed_forward(x) (GPT-J). Such a
  // layer has no cross-attention and no norms `after`.
  bool parallel = false;
  // Added after the feed-forward; only in decoders.
  std::optional<TokenInputTensors> token_input = std::nullopt;
  float factor = 1;  // multiplies the layer's output (Gemma 4)

  // False for a layer that has only a mixer or attention (Nemotron-H).
  bool feeds_forward() const {
    return up.weight != nullptr || experts.has_value();
  }
  // False for a layer that keeps no keys and values.
  bool attends() const {
    return !mixer.has_value() || self_attention.query.weight != nullptr;
  }

  bool operator==(const LayerDescription&) const = default;
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
};

// An input of each layer that depends on the token and on the first layer's
// input x (Gemma 4's per-layer embeddings). e is [layers, width]; the norm is
// applied to each layer's part:
//   e = norm(W x) + scale * row of `tokens`
struct TokenInputsDescription {
  int width = 0;
  const TensorView* tokens = nullptr;  // [vocabulary or more, layers x width]
  // True: rows are read where the tensor is, which must outlive the
  // Transformer. False: it is copied.
  bool in_place = false;
  float scale = 1;
  LinearTensors projection;  // [layers x width, d_model]
  NormTensors norm;          // [width]
  float norm_epsilon = 1e-6f;
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

  EmbeddingTensors embeddings;
  std::optional<NormTensors> embedding_norm;  // applied to the sum
  // True: to the sum without positions, which are added to the norm's output
  // (the decoder of Blenderbot Small).
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
