#ifndef TRIVIUM_MODEL_TRANSFORMER_RECURRENCE_H_
#define TRIVIUM_MODEL_TRANSFORMER_RECURRENCE_H_

#include "absl/status/status.h"
#include "model/kernels/buffer.h"
#include "model/kernels/kv_tile.h"
#include "model/transformer/attention.h"
#include "model/transformer/rows.h"

namespace trivium {

// True if a tile has room for one f32 state per token, which holds if keys and
// values are bf16 or f32.
bool HoldsStates(const KvShape& shape);

// The recurrence that replaces a decoder's self-attention
// (RecurrenceDescription). The state after each token is stored as f32 in the
// tile of the token's block, in place of its key and value. So sharing,
// copying, caching and releasing blocks applies to states, too, and the tokens
// of a hypothesis may arrive one by one or together. Each worker has one.
class RecurrenceSublayer {
 public:
  // `task` must be for a recurrent layer and have places and tiles that hold
  // states.
  absl::Status Run(const AttentionTask& task, Rows* rows, Workspace* workspace);

 private:
  Buffer<float> products_;  // inputs and gates, [rows, 2 d_model]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_RECURRENCE_H_
