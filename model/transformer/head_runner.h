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

// Computes the pooled outputs, logits and sparse embeddings of sources that
// have finished the last layer. Each worker has one.
class HeadRunner {
 public:
  // Each is null if the model has none; both must outlive this object.
  HeadRunner(const Pooler* pooler, const Head* head);

  // True if the requested outputs of `source` need the final state of its token
  // `position`.
  bool Reads(const SourceState& source, int position) const;

  // `state(s, position)` returns the final state of a token of sources[s]; it
  // is called only where Reads() is true.
  using StateOf = absl::FunctionRef<const float*(size_t s, int position)>;
  absl::Status Run(std::span<SourceState* const> sources, StateOf state,
                   Workspace* workspace);

 private:
  // True if the source's logits are computed from the pooled output.
  bool PoolsForHead(const SourceState& source) const;
  absl::Status Pool(std::span<SourceState* const> sources, StateOf state,
                    Workspace* workspace);
  // Fills means_ for heads that read a mean.
  absl::Status Mean(std::span<SourceState* const> sources, StateOf state,
                    Workspace* workspace);
  absl::Status Logits(std::span<SourceState* const> sources, StateOf state,
                      Workspace* workspace);
  absl::Status Sparse(std::span<SourceState* const> sources, StateOf state,
                      Workspace* workspace);

  // A row of logits to compute.
  struct Row {
    const float* input = nullptr;  // of the head's dense layer, or behind it
    float* logits = nullptr;       // [outputs], receives all logits
    BestLogits* best = nullptr;    // receives the best logits only
    int best_count = 0;
    float* pool = nullptr;  // [outputs], pools the logits of a source's rows
  };
  // True if the head's dense layer runs over rows of logits.
  bool runs_dense() const {
    return head_->dense.has_value() &&
           head_->input != HeadDescription::Input::kMeanOfDense;
  }
  // Fills hidden_ with what the output product reads.
  absl::Status Hidden(std::span<const Row> rows, Workspace* workspace);
  absl::Status LogitsOf(std::span<Row> rows, Workspace* workspace);
  // Adds the rows' logits to their pools.
  absl::Status PoolLogits(std::span<const Row> rows, Workspace* workspace);

  const Pooler* pooler_;
  const Head* head_;
  Operand input_;   // f32: pooled outputs or final states
  Operand hidden_;  // input of the output product
  // Destination of each row of the pooler's product.
  std::vector<float*> results_;
  std::vector<Row> rows_;
  std::vector<RowCandidates> candidates_;  // [rows of a slice]
  std::vector<float> means_;               // [sources, width]
  std::vector<float> activated_;           // [rows of a slice, width]
  std::vector<float> pools_;  // [sources with sparse embeddings, outputs]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_HEAD_RUNNER_H_
