#ifndef TRIVIUM_MODEL_TRANSFORMER_RECURRENCE_H_
#define TRIVIUM_MODEL_TRANSFORMER_RECURRENCE_H_

#include "absl/status/status.h"
#include "model/kernels/buffer.h"
#include "model/kernels/kv_tile.h"
#include "model/transformer/attention.h"
#include "model/transformer/rows.h"

namespace trivium {

// Whether a tile has room for a state of f32 for each of its tokens: keys and
// values of bf16 or f32 leave it.
bool HoldsStates(const KvShape& shape);

// The sublayer that decoders with a recurrence (RecurrenceDescription) have
// instead of self-attention. The state behind each token lies in the tile of
// its block, in f32, where its key and value would be; so whatever shares,
// copies, keeps or gives up blocks does so with states, and the tokens of a
// hypothesis may come one by one or together. One a worker.
class RecurrenceSublayer {
 public:
  // `task` is that of a layer that is recurrent, with places and tiles that
  // hold states.
  absl::Status Run(const AttentionTask& task, Rows* rows, Workspace* workspace);

 private:
  Buffer<float> products_;  // [rows, 2 d_model], inputs and gates
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_RECURRENCE_H_
