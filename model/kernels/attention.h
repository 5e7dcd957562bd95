#ifndef TRIVIUM_MODEL_KERNELS_ATTENTION_H_
#define TRIVIUM_MODEL_KERNELS_ATTENTION_H_

#include <cstddef>
#include <limits>

#include "model/kernels/kv_tile.h"

namespace trivium {

// How far a query sees where nothing bounds it.
inline constexpr int kAllKeys = std::numeric_limits<int>::max();
inline constexpr int kAllHeads = std::numeric_limits<int>::max();

// Scaled dot-product attention of all heads for several queries (Vaswani et al.
// 2017):
//   weights = softmax(scale * q K^T + bias), out = weights V
// A head of keys and values may serve several heads of queries (Ainslie et al.
// 2023), which then share its reading: query head h reads KV head
// h / (query_heads / shape.heads).
//
// Query i stands at the position of key `position + i` and sees the keys from
// `look_back` before that one to `look_ahead` behind it, as far as there are
// any:
//   all keys (encoders, cross attention)   nothing set
//   causal (decoders)                      position, look_ahead = 0
//   causal with a window of w keys         and look_back = w - 1
//   local attention of encoders            position, look_back, look_ahead
// so that a chunk of a prompt is one call once its keys are stored, as one
// query is while decoding. Every query must see at least one key.
//
// Every query's bits depend on its own q, on the keys that it sees and on their
// places alone: sums run over dimensions and keys in one fixed order, whatever
// else the call has. What a query does not see may be anything. Over int8 tiles
// queries and weights are quantized, too (attention_int8.cc); over bf16 tiles
// they may be rounded (RoundsQueries).
struct AttentionCall {
  KvShape shape;    // with the heads of keys and values
  int query_heads;  // a multiple of shape.heads
  // Tile t has keys t * kTileTokens and on, [ceil(keys / kTileTokens)]. Tiles
  // of which no query sees a key are not read and may be null.
  const char* const* tiles;
  int keys;  // stored, at least 1
  int queries;
  int position = 0;
  int look_back = kAllKeys;
  int look_ahead = kAllKeys;
  // Of keys and values, those that are attended; the others' outputs, and
  // weights, stay as they are. So threads may have heads each.
  int begin_head = 0;
  int end_head = kAllHeads;
  const float* query;   // [queries] rows of query_heads * head_size floats ...
  size_t query_stride;  // ... this far apart
  float scale;
  // Of each query head, the logit of a key beside the others whose value is
  // zero ("attention sinks", Xiao et al. 2023, learned as in GPT-OSS); or null.
  const float* sinks = nullptr;
  // What a score gets by distance, or null: that of query head h at place p and
  // key j gets bias[h * bias_stride + j - p] (T5, Raffel et al. 2019). Around
  // what is seen there are kTileTokens floats more to read.
  const float* bias = nullptr;
  size_t bias_stride = 0;
  float* out;         // [queries] rows of query_heads * head_size floats ...
  size_t out_stride;  // ... this far apart; may be the queries
  // Of AttentionScratchSize() floats.
  float* scratch = nullptr;
  // The attention weights go here, or null:
  // [query_heads, queries, PaddedKeys(keys)], zero where a query sees nothing.
  float* weights = nullptr;
  // Those that the next call reads first, and how many keys there are from the
  // first of them on. They begin to come out of memory if int8.
  const char* const* next_tiles = nullptr;
  int next_keys = 0;
};
void Attend(const AttentionCall& call);

// Floats that the call's scratch has room for, itself and `weights` unread; it
// grows with the keys that some query sees, and not with queries or heads.
size_t AttentionScratchSize(const AttentionCall& call);

// The keys [begin, end) that a query of the call sees.
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

// Whether Attend rounds queries and weights to bf16, too: over bf16 tiles,
// where the CPU multiplies bf16, at twice the rate of f32.
bool RoundsQueries(KvType type);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_ATTENTION_H_
