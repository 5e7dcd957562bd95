#ifndef TRIVIUM_MODEL_TRANSFORMER_ATTENTION_DESCRIPTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_ATTENTION_DESCRIPTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/kernels/attention.h"
#include "model/kernels/kv_tile.h"
#include "model/weights/weights.h"

namespace trivium {

// Attention as data, see description.h.

// A linear layer y = x W^T + b. weight [out, in]; bias [out] or null.
struct LinearTensors {
  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;

  bool operator==(const LinearTensors&) const = default;
};

// weight [d_model]; bias [d_model] or null.
struct NormTensors {
  // Layer normalization (Ba et al. 2016), root mean square normalization, which
  // has no bias (Zhang and Sennrich 2019), or weight * x + bias (MobileBERT). A
  // new kind also needs its rows in kernels/row_ops.h, Norm (layer.h), a word
  // in HeadTrace, and its plain loop in tests/support/reference_rows.cc.
  enum class Kind { kLayer, kRms, kNone };

  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;
  Kind kind = Kind::kLayer;
  bool one_plus_weight = false;  // multiply by 1 + weight (Gemma)
  std::optional<float> epsilon = std::nullopt;  // if not the stack's

  bool operator==(const NormTensors&) const = default;
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
  // A factor of AttentionGeometry::scale that a family may apply: the square of
  // YaRN's magnitude for mscale_all_dim (DeepSeek).
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
  // If above 0, normalized queries and keys, and values, are limited to so much
  // on either side of 0, before rotary positions (OLMo, MPT).
  float clip = 0;
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

// Heads beside those of attention, as many and of their size, that average the
// values of near tokens ("ConvBERT", Jiang et al. 2020). For token i, its input
// x and its queries q, with k from 0 to K - 1 and n = i + k - K / 2:
//   s_i = W_s (sum over k of d_k * x_n) + b_s
//   w_i = softmax over k of W_w (q_i * s_i) + b_w, for each head
//   y_i = sum over k of w_ik v_n,  v_n = W_v x_n + b_v
// x and v are 0 outside the text.
struct NearHeadsDescription {
  int width = 0;                          // K, odd
  const TensorView* depthwise = nullptr;  // d, [d_model, 1, K]
  LinearTensors span;                     // W_s, [query_width, d_model]
  LinearTensors weights;                  // W_w, [heads x K, query_width]
  LinearTensors value;                    // W_v, [query_width, d_model]

  bool operator==(const NearHeadsDescription&) const = default;
};

// Keys and values that each query sees beside those of tokens ("LongT5", Guo et
// al. 2022). There is one for each whole block of `size` tokens: the layer's
// key and value of norm(the sum of the block's inputs). Tokens after the last
// whole block belong to it. Biases are
// RelativeAttentionDescription::block_bias.
struct BlockKeysDescription {
  int size = 0;
  NormTensors norm;

  bool operator==(const BlockKeysDescription&) const = default;
};

// Queries, keys and values of a source's global tokens ("Longformer", Beltagy
// et al. 2020), shaped like the layer's own. Every query sees the global tokens
// beside those near it. A global token's query is of this `query`, and sees all
// tokens, by keys and values that these make. StackDescription::global_tokens
// tells which tokens are global.
struct GlobalAttentionDescription {
  LinearTensors query, key, value;

  bool operator==(const GlobalAttentionDescription&) const = default;
};

struct AttentionDescription {
  AttentionGeometry geometry;
  // Shapes: query [query_width, d_model], key and value [kv_width, d_model],
  // output [d_model, query_width]. Without a value, values are what the key's
  // product is before its norm and rotary positions (Gemma 4).
  LinearTensors query, key, value, output;
  // Applied to each head, weights [head_size] (Qwen 3), or [heads, head_size]
  // if each has its own (Command R+); or to all heads together, weights
  // [query_width] and [kv_width] (OLMo 2).
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
  // Only in encoders, without a norm before attention. `output` is then
  // [d_model, 2 query_width] and reads attention's heads, then these.
  std::optional<NearHeadsDescription> near = std::nullopt;
  // Only in encoders with relative attention that is a bias.
  std::optional<BlockKeysDescription> blocks = std::nullopt;
  // Only in encoders, in all layers or in none.
  std::optional<GlobalAttentionDescription> global = std::nullopt;

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
  // If above 0, b = bf16_scale r(r(slope) j), where r rounds to bf16. Without
  // the rounding, softmax makes the same of it in causal attention (Falcon in
  // Transformers).
  float bf16_scale = 0;
  // [span, heads]: b of a query and a block, by the distance of its own block
  // from that block; null: no layer has BlockKeysDescription.
  const TensorView* block_bias = nullptr;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_ATTENTION_DESCRIPTION_H_
