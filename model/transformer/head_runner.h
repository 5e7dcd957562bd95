#ifndef TRIVIUM_MODEL_TRANSFORMER_HEAD_RUNNER_H_
#define TRIVIUM_MODEL_TRANSFORMER_HEAD_RUNNER_H_

#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "model/kernels/candidates.h"
#include "model/transformer/heads.h"
#include "model/transformer/linear.h"
#include "model/transformer/sequences.h"

namespace trivium {

// Computes pooled outputs and logits of sources that have gone through the
// last layer. One a worker.
class HeadRunner {
 public:
  // Null where the model has none; both outlive this.
  HeadRunner(const Pooler* pooler, const Head* head);

  // Whether what `source` wants needs the final state of its token `position`.
  bool Reads(const SourceState& source, int position) const;

  // `state(s, position)` is the final state of that token of sources[s], for
  // those that Reads() tells.
  using StateOf = absl::FunctionRef<const float*(size_t s, int position)>;
  absl::Status Run(std::span<SourceState* const> sources, StateOf state,
                   Workspace* workspace);

 private:
  // Whether the source's logits are made of the pooled output.
  bool PoolsForHead(const SourceState& source) const;
  absl::Status Pool(std::span<SourceState* const> sources, StateOf state,
                    Workspace* workspace);
  absl::Status Logits(std::span<SourceState* const> sources, StateOf state,
                      Workspace* workspace);

  // A row of logits that is asked for.
  struct Row {
    const float* input = nullptr;
    float* logits = nullptr;     // [outputs] where they go
    BestLogits* best = nullptr;  // where only the best are kept
    int best_count = 0;
  };
  absl::Status LogitsOf(std::span<Row> rows, Workspace* workspace);

  const Pooler* pooler_;
  const Head* head_;
  Operand input_;   // f32: pooled outputs or final states
  Operand hidden_;  // what the last product reads
  // Of each row of the pooler's product: where its result goes.
  std::vector<float*> results_;
  std::vector<Row> rows_;
  std::vector<RowCandidates> candidates_;  // of a slice's rows
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_HEAD_RUNNER_H_
