#ifndef TRIVIUM_MODEL_KERNELS_ATTENTION_H_
#define TRIVIUM_MODEL_KERNELS_ATTENTION_H_

#include <cstddef>
#include <limits>

#include "model/kernels/kv_tile.h"

namespace trivium {

// The default of look_back and look_ahead: no limit.
inline constexpr int kAllKeys = std::numeric_limits<int>::max();
inline constexpr int kAllHeads = std::numeric_limits<int>::max();

// Scaled dot-product attention of all heads for several queries (Vaswani et al.
// 2017):
//   weights = softmax(cap(scale * q K^T) + bias), out = weights V
// A key-value head may serve several query heads (Ainslie et al. 2023), which
// then share its reading: query head h reads KV head h / (query_heads /
// shape.heads).
//
// Query i has the position of key `position + i`. It sees the keys from
// `look_back` before that position to `look_ahead` after it, where they exist:
//   all keys (encoders, cross attention)   nothing set
//   causal (decoders)                      position, look_ahead = 0
//   causal with a window of w keys         and look_back = w - 1
//   local attention of encoders            position, look_back, look_ahead
// So a chunk of a prompt is one call once its keys are stored, and so is the
// single query of a decode step. Every query must see at least one key.
//
// The bits of a query's output depend only on its own q, on the keys that it
// sees and on their positions: sums run over dimensions and keys in a fixed
// order, whatever else the call contains. Keys and values that no query sees
// may be anything, even NaN. Over int8 tiles queries and weights are quantized,
// too (attention_int8.cc); over bf16 tiles they may be rounded (RoundsQueries).
struct AttentionCall {
  KvShape shape;    // heads of keys, and of values if they are not the keys
  int query_heads;  // a multiple of shape.heads
  // Tile t holds the keys from t * kTileTokens on, [ceil(keys / kTileTokens)].
  // Tiles without a key that a query sees are not read and may be null.
  const char* const* tiles;
  int keys;  // stored, at least 1
  int queries;
  int position = 0;
  int look_back = kAllKeys;
  int look_ahead = kAllKeys;
  // The range of KV heads to process. Outputs and weights of other heads are
  // not written, so threads may split the heads.
  int begin_head = 0;
  int end_head = kAllHeads;
  const float* query;   // [queries] rows of query_heads * head_size floats ...
  size_t query_stride;  // ... this far apart
  float scale;
  // If above 0, cap(s) is soft_cap * tanh(s / soft_cap) (Gemma 2), else s.
  float soft_cap = 0;
  // For each query head, the logit of an additional key whose value is zero
  // ("attention sinks", Xiao et al. 2023, learned as in GPT-OSS); or null.
  const float* sinks = nullptr;
  // Added to scores, or null: the score of query head h at position p with key
  // j gets bias[h * bias_stride + j - p] (T5, Raffel et al. 2019), or if
  // bias_of_keys is set bias[h * bias_stride + j]. kTileTokens floats before
  // and after the used range must be readable.
  const float* bias = nullptr;
  size_t bias_stride = 0;
  bool bias_of_keys = false;
  float* out;         // [queries] rows of query_heads * head_size floats ...
  size_t out_stride;  // ... this far apart; may be the queries
  // AttentionScratchSize() floats.
  float* scratch = nullptr;
  // Receives the attention weights, or null: [query_heads, queries,
  // PaddedKeys(keys)], zero for keys that a query does not see.
  float* weights = nullptr;
  // Receives scale * q K^T of the keys that a query sees, laid out as
  // `weights`, which must be set; or null.
  float* scores = nullptr;
  // The tiles that the next call reads first, and the number of keys from the
  // first of them on. They are prefetched if int8.
  const char* const* next_tiles = nullptr;
  int next_keys = 0;
};
void Attend(const AttentionCall& call);

// Returns the floats of the call's scratch; reads neither `scratch` nor what
// `weights` points to, but whether it is null. Grows with the number of keys
// seen by any query: little more than half a megabyte or, if that is more, than
// the weights of eight queries.
size_t AttentionScratchSize(const AttentionCall& call);

// A range of keys [begin, end); SeenKeys returns those that a query sees.
struct KeyRange {
  int begin;
  int end;
};
constexpr KeyRange SeenKeys(const AttentionCall& call, int query) {
  const int at = call.position + query;
  return {call.look_back < at ? at - call.look_back : 0,
          call.look_ahead < call.keys - 1 - at ? at + call.look_ahead + 1
                                               : call.keys};
}

// Returns the bias of a query and key 0, given that there is a bias.
constexpr const float* BiasOfQuery(const AttentionCall& call, int query_head,
                                   int query) {
  const float* const bias = call.bias + query_head * call.bias_stride;
  return call.bias_of_keys ? bias : bias - (call.position + query);
}

// True if Attend also rounds queries and weights to bf16. It does so over bf16
// tiles with values of their own, on CPUs with bf16 products, which run at
// twice the rate of f32.
bool RoundsQueries(KvType type);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_ATTENTION_H_
