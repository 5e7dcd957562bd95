#ifndef TRIVIUM_MODEL_TRANSFORMER_LAYER_DESCRIPTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_LAYER_DESCRIPTION_H_

#include <limits>
#include <optional>
#include <vector>

#include "model/kernels/activation.h"
#include "model/kernels/state_step.h"
#include "model/transformer/attention_description.h"
#include "model/weights/weights.h"

namespace trivium {

// A layer as data, see description.h.

// The norms of a sublayer f; a model has one or two of them:
//   y = factor of_output(f(before(x)))
//   x = after(x + y), or after(x + of_sum(x + y)) if there is of_sum
// The original Transformer, BERT and Marian have `after`; GPT-2, LLaMA and
// mBART `before`; OLMo 2 `of_output`; Gemma 2 `before` and `of_output`; the
// attention of jina-embeddings-v2-base-code `of_sum` and `after`.
struct SublayerNorms {
  std::optional<NormTensors> before, of_output, after;
  float factor = 1;  // of the residual connection (Granite)
  std::optional<NormTensors> of_sum = std::nullopt;

  bool operator==(const SublayerNorms&) const = default;
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
// kSparseMixer ("GRIN: GRadient-INformed MoE", Liu et al. 2024) takes C by r,
// and weighs each of its experts, from the best on, against a set N. Experts i
// of N were not weighed before e, and their logits are near that of e:
// (r_e - r_i) / max(|r_i|, r_e) <= nearness.
//   w_e = factor scales_e exp(r_e) / sum over i in N of exp(r_i)
struct ExpertsDescription {
  enum class Scores { kSoftmax, kSigmoid, kSparseMixer };

  LinearTensors router;  // [experts, d_model]
  int chosen = 0;        // experts per token
  // True: n = 1. False: n is the sum; with kSoftmax, weights are the softmax
  // over the chosen experts' logits (Jiang et al. 2024).
  bool over_all = false;
  Scores scores = Scores::kSoftmax;
  float nearness = 0;                      // kSparseMixer only
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
  // A feed-forward of every token, of any width (DeepSeek V2).
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
// kSelectiveScan (Mamba, "Linear-Time Sequence Modeling with Selective State
//   Spaces", Gu and Dao 2023): c_t is v, [values], and [l, k, q] = W_s c_t,
//   whose three parts are divided by their root mean squares if there is a
//   selection_epsilon (Falcon-Mamba). With r = softplus(W_r l + rate_bias) and
//   d = exp(decay), both of each value j by itself:
//     S_t,j = exp(-d_j r_j) * S_(t - 1),j + r_j v_j k,  o_t,j = S_t,j . q +
//     skip_j v_j
//   It has one head and one of keys, and no norm.
//
// The last three end with y_t = norm(o_t) * swish(W_z x_t), norm(o_t *
// swish(W_z x_t)), or o_t * swish(W_z x_t). The sublayer's output is W_o y_t.
struct MixerDescription {
  enum class Kind { kConvolution, kGatedDelta, kStateSpace, kSelectiveScan };
  static constexpr int kMostWidth = kMostConvolutionWidth;

  Kind kind = Kind::kConvolution;
  LinearTensors gate;                   // W_z [values, d_model]
  std::vector<LinearTensors> channels;  // W_c [channels, d_model], in parts
  std::optional<LinearTensors> channel_gate;  // W_g [channels, d_model]
  // W_r, W_b [heads, d_model]; kSelectiveScan's W_r is [values, rate_width].
  std::optional<LinearTensors> rate, share;
  // W_s [rate_width + 2 key_size, values], kSelectiveScan only.
  std::optional<LinearTensors> selection;
  std::optional<float> selection_epsilon;  // added to the mean square
  int rate_width = 0;                      // of l
  LinearTensors output;                    // W_o [d_model, values]

  int width = 0;                                 // K, at least 2
  const TensorView* convolution = nullptr;       // w [channels, 1, K]
  const TensorView* convolution_bias = nullptr;  // [channels] or null

  Activation activation = Activation::kSwish;  // of the convolution
  // kConvolution has none of these; its channels and values are d_model.
  int heads = 0;       // of v
  int key_heads = 0;   // divides heads
  int key_size = 0;    // of a head's q and k
  int value_size = 0;  // of a head's v
  // [heads]; kSelectiveScan's are [values, key_size], [values], [values].
  const TensorView* decay = nullptr;
  const TensorView* rate_bias = nullptr;
  const TensorView* skip = nullptr;  // not of kGatedDelta
  float least_rate = 0;              // bounds of r, kStateSpace only
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
    if (kind == Kind::kConvolution) return d_model;
    if (kind == Kind::kSelectiveScan) return value_size;
    return 2 * key_heads * key_size + heads * value_size;
  }

  bool operator==(const MixerDescription&) const = default;
};

// The tensors by which a layer adds its token's own input e, see
// TokenInputsDescription:
//   x = x + norm(W_out (activation(W_gate x) * e))
struct TokenInputTensors {
  LinearTensors gate, output;  // [width, d_model], [d_model, width]
  NormTensors norm;

  bool operator==(const TokenInputTensors&) const = default;
};

// A feed-forward without a gate, see LayerDescription.
struct FeedForwardTensors {
  LinearTensors up, down;
  SublayerNorms norms;

  bool operator==(const FeedForwardTensors&) const = default;
};

// A narrower stream inside a layer ("MobileBERT", Sun et al. 2020). The layer's
// attention and feed-forwards read h instead of its input x, and add to it:
//   h = input_norm(W_in x)  [width]
//   x = output_norm(x + W_out h)
// Their weights and norms are as wide as h.
struct BottleneckDescription {
  int width = 0;
  LinearTensors input;  // W_in, [width, d_model]
  NormTensors input_norm;
  // If set, queries and keys read attention_norm(W x), W [width, d_model],
  // instead of h, and values read x, [kv_width, d_model].
  std::optional<LinearTensors> attention;
  std::optional<NormTensors> attention_norm;
  LinearTensors output;  // W_out, [d_model, width]
  NormTensors output_norm;

  bool operator==(const BottleneckDescription&) const = default;
};

// A convolution along a source's tokens beside a whole layer (the first of
// DeBERTa v2's larger models). With the layer's input x and its output y:
//   y = norm(y_t + activation(bias + sum over i < K of W_i x_(t - K / 2 + i)))
struct ConvolutionDescription {
  int width = 0;  // K, odd
  // [d_model, d_model x K], K numbers for each channel of x; the bias,
  // [d_model]
  LinearTensors product;
  Activation activation = Activation::kTanh;
  NormTensors norm;

  bool operator==(const ConvolutionDescription&) const = default;
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
  // Set in decoder layers of encoder-decoder models. If it has no query, it has
  // no norms and output either: self-attention sees its keys and values beside
  // those of tokens, in one softmax, and its key norm is self-attention's
  // (T5Gemma 2).
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
  // Run before the feed-forward, in order (MobileBERT).
  std::vector<FeedForwardTensors> earlier_feed_forwards = {};
  // Only in encoders, with norms after the sublayers.
  std::optional<BottleneckDescription> bottleneck = std::nullopt;
  // Only in encoders, with a norm after the feed-forward and no bottleneck.
  std::optional<ConvolutionDescription> convolution = std::nullopt;
  // True: there is no self-attention and no mixer, only a feed-forward
  // (Nemotron-H). Only in decoders.
  bool feeds_forward_only = false;

  // False for a layer that has only a mixer or attention (Nemotron-H).
  bool feeds_forward() const {
    return up.weight != nullptr || experts.has_value();
  }
  // True for a layer whose self-attention sees the source, too.
  bool merges() const {
    return cross_attention.has_value() &&
           cross_attention->query.weight == nullptr;
  }
  // False for a layer that keeps no keys and values.
  bool attends() const {
    if (feeds_forward_only) return false;
    return !mixer.has_value() || self_attention.query.weight != nullptr;
  }

  bool operator==(const LayerDescription&) const = default;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_LAYER_DESCRIPTION_H_
