#ifndef TRIVIUM_MODEL_TRANSFORMER_ATTENTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_ATTENTION_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/kernels/attention.h"
#include "model/kernels/buffer.h"
#include "model/transformer/attention_maps.h"
#include "model/transformer/kv_cache.h"
#include "model/transformer/layer.h"
#include "model/transformer/linear.h"
#include "model/transformer/relative_attention.h"
#include "model/transformer/rotary.h"
#include "model/transformer/rows.h"

namespace trivium {

// Rows that follow each other and read the keys of one sequence: a source, a
// hypothesis, or a source's hypotheses.
struct AttentionGroup {
  int first = 0;  // the first of the rows
  int rows = 0;
  const int* blocks = nullptr;  // of the sequence, in its order
  int keys = 0;                 // of the sequence, those of the rows included
  int position = 0;             // the first row's place among them
  const AttentionMaps* maps = nullptr;  // where the weights go, or null
};

// Where a row stands in its sequence, and the block that its own key and value
// go to.
struct KvPlace {
  int block;
  int position;

  int slot() const { return position % kTileTokens; }
};

// What a sublayer is told of one layer.
struct AttentionTask {
  const Attention& weights;
  int layer;                               // its place in the stack
  std::span<const AttentionGroup> groups;  // all rows, in order
  // [rows], or empty where keys and values are there already.
  std::span<const KvPlace> places = {};
  const RotaryTurns* turns = nullptr;           // of these rows; with places
  KvTiles tiles = {};                           // of this layer
  const RelativeAttention* relative = nullptr;  // of the stack
  const Linear* reader = nullptr;               // see Rows

  // Disentangled attention has its keys and values beside its queries.
  bool in_tiles() const {
    return relative == nullptr || !relative->disentangled();
  }
};

// The attention sublayer of encoders and decoders, to their own tokens or to a
// source's. One a worker.
class AttentionSublayer {
 public:
  absl::Status Run(const AttentionTask& task, Rows* rows, Workspace* workspace);

 private:
  // Queries of a group that the kernels see in one call.
  struct Piece {
    size_t group;
    int first;  // in the group
    int queries;
  };
  // Of keys and values.
  struct Heads {
    int begin;
    int end;
  };
  // What a thread needs to attend.
  struct Scratch {
    Buffer<float> kernel;
    Buffer<float> kept;  // [heads, queries, padded keys]
    std::vector<const char*> tiles, next_tiles;
  };

  // Queries go to query_, keys and values to their tiles, or beside their
  // queries where relative attention reads them. Queries and keys are as
  // attention reads them: each head normalized, then turned, where a layer has
  // that.
  absl::Status Project(const AttentionTask& task, Rows* rows,
                       Workspace* workspace);
  void ListPieces(const AttentionTask& task);
  // Leaves what the rows attended to in `rows->other`.
  void AttendAll(const AttentionTask& task, Rows* rows, Workspace* workspace);
  // `next`: what this thread attends next with the same heads, or null.
  void Attend(const AttentionTask& task, const Piece& piece, Heads heads,
              const Piece* next, Scratch* scratch);
  void AttendRelatively(const AttentionTask& task, const AttentionGroup& group,
                        Heads heads, Scratch* scratch);
  // The first tiles that a group's first query reads.
  void ListNext(const AttentionTask& task, const AttentionGroup& next,
                AttentionCall* call, Scratch* scratch);

  size_t stride_ = 0;    // floats of a row of query_
  Buffer<float> query_;  // [rows, stride_]
  Buffer<float> out_;    // [rows, query width] of relative attention
  std::vector<Piece> pieces_;
  std::vector<Scratch> scratch_;  // [threads]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_ATTENTION_H_
