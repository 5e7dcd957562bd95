#ifndef TRIVIUM_MODEL_TRANSFORMER_ATTENTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_ATTENTION_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/kernels/attention.h"
#include "model/kernels/buffer.h"
#include "model/transformer/attention_maps.h"
#include "model/transformer/block_keys.h"
#include "model/transformer/global_keys.h"
#include "model/transformer/head_tap.h"
#include "model/transformer/joined_keys.h"
#include "model/transformer/kv_cache.h"
#include "model/transformer/latent_attention.h"
#include "model/transformer/layer.h"
#include "model/transformer/linear.h"
#include "model/transformer/near_heads.h"
#include "model/transformer/relative_attention.h"
#include "model/transformer/rotary.h"
#include "model/transformer/rows.h"

namespace trivium {

// Consecutive rows that read the keys of one sequence: a source, a hypothesis,
// or all hypotheses of one source.
struct AttentionGroup {
  int first = 0;  // index of the first row
  int rows = 0;
  const int* blocks = nullptr;  // the sequence's, in order
  int keys = 0;                 // the sequence's, including the rows' own
  // of the first row, in the sequence
  int position = 0;
  const AttentionMaps* maps = nullptr;  // receives the weights, or null
  // Receives one head's numbers in the layer that it chooses, or null. The
  // first row is row `trace_row` of the trace.
  HeadTrace* trace = nullptr;
  int trace_row = 0;
  // A source's keys, which the rows see beside these; only if
  // Attention::merged.
  const int* source_blocks = nullptr;
  int source_keys = 0;
  const AttentionMaps* source_maps = nullptr;
  // The sequence's first tokens that are global, of a whole source; only if
  // Attention::global.
  int global = 0;
};

// A row's position in its sequence and the block that receives its key and
// value.
struct KvPlace {
  int block;
  int position;

  int slot() const { return position % kTileTokens; }
};

// The input of a sublayer for one layer.
struct AttentionTask {
  const Attention& weights;
  int layer;                               // index in the stack
  std::span<const AttentionGroup> groups;  // all rows, in order
  // [rows]; empty if the keys and values are already stored.
  std::span<const KvPlace> places = {};
  const RotaryTurns* turns = nullptr;  // of these rows; set with `places`
  KvTiles tiles = {};                  // of this layer
  const RelativeAttention* relative = nullptr;  // of the stack
  const Linear* reader = nullptr;               // see Rows
  // [rows, kv_width]; only if Attention::values_given.
  const float* values = nullptr;

  // False for disentangled attention, which keeps keys and values beside the
  // queries.
  bool in_tiles() const {
    return relative == nullptr || !relative->disentangled();
  }
};

// The attention sublayer of encoders and decoders: self-attention, or
// cross-attention to a source. Each worker has one.
class AttentionSublayer {
 public:
  explicit AttentionSublayer(const Formats& formats)
      : latent_(formats), near_(formats), blocks_(formats) {}

  absl::Status Run(const AttentionTask& task, Rows* rows, Workspace* workspace);

 private:
  // Queries of one group that one kernel call processes.
  struct Piece {
    size_t group;
    int first;  // in the group
    int queries;
  };
  // A range of key-value heads; of latent attention, of query heads.
  struct Heads {
    int begin;
    int end;
  };
  // The scratch memory of one thread.
  struct Scratch {
    Buffer<float> kernel;
    Buffer<float> kept;    // [heads, queries, padded keys]
    Buffer<float> scores;  // the same
    std::vector<const char*> tiles, next_tiles;
    JoinedKeys joined;
  };

  // Computes queries into query_, and keys and values into their tiles.
  // Relative attention reads keys and values beside the queries instead. Before
  // they are stored, each head of queries and keys is normalized and turned by
  // its rotary position, where the layer does that.
  absl::Status Project(const AttentionTask& task, Rows* rows,
                       Workspace* workspace);
  // Normalizes and turns a row's queries, where the layer does that.
  static void PlaceQuery(const AttentionTask& task, int row, float* query);
  void ListPieces(const AttentionTask& task);
  // Returns how many ranges of KV heads to process one after the other, each
  // for all pieces, so that a range's keys and values stay in the last-level
  // cache from piece to piece of a long group.
  static int HeadParts(const AttentionTask& task);
  // Runs latent attention, see latent_attention.h.
  absl::Status RunLatent(const AttentionTask& task, Rows* rows,
                         Workspace* workspace);
  // Writes the attention output of all rows to `rows->other`; of latent
  // attention, to query_.
  void AttendAll(const AttentionTask& task, Rows* rows, Workspace* workspace);
  // `next` is the piece that this thread processes next with the same heads, or
  // null; its first keys are prefetched.
  void Attend(const AttentionTask& task, const Piece& piece, Heads heads,
              const Piece* next, Scratch* scratch);
  // Does the same for queries that see blocks, a source or global tokens, too,
  // one by one.
  void AttendToJoined(const Piece& piece, const AttentionTask& task,
                      AttentionCall call, Scratch* scratch) const;
  // Sets the keys of a call of one query, that of `position`, which sees a
  // source's keys or global tokens, too.
  static NearKeys JoinOthers(const AttentionTask& task,
                             const AttentionGroup& group, int position,
                             JoinedKeys* joined, AttentionCall* call);
  // Copies what `call`, the one of `piece`, has written to its weights and
  // scores.
  void CopyMaps(const AttentionTask& task, const Piece& piece, Heads heads,
                const AttentionCall& call) const;
  void AttendRelatively(const AttentionTask& task, const AttentionGroup& group,
                        Heads heads, Scratch* scratch);
  // Tells the kernel which tiles the first query of group `next` reads first.
  void ListNext(const AttentionTask& task, const AttentionGroup& next,
                AttentionCall* call, Scratch* scratch);

  LatentProducts latent_;
  NearHeadsRunner near_;
  BlockKeysRunner blocks_;
  GlobalKeys global_;
  HeadTap tap_;
  size_t stride_ = 0;    // floats between rows of query_
  Buffer<float> query_;  // [rows, stride_]
  Buffer<float> gates_;  // [rows, query width], if there are any
  Buffer<float> out_;    // relative attention's output: [rows, query width]
  std::vector<Piece> pieces_;
  std::vector<Scratch> scratch_;  // [threads]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_ATTENTION_H_
