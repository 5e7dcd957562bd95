#ifndef TRIVIUM_MODEL_KERNELS_CANDIDATES_H_
#define TRIVIUM_MODEL_KERNELS_CANDIDATES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "model/kernels/row_ops.h"
#include "model/logits.h"

namespace trivium {

// Finds one row's best logits and their log-sum-exp while the output projection
// computes the row block by block. The result depends only on the row and the
// borders of the blocks.
//
//   row.Start(top_k, watched);
//   for each block of columns: row.Add(first_token, product, scratch, all);
//   row.Finish();
//
// If threads split the blocks, each has its own RowCandidates; before Finish,
// the first one appends the others in the order of their blocks.
class RowCandidates {
 public:
  // `watched` (sorted) must live until Finish.
  void Start(int top_k, std::span<const int32_t> watched);
  // Adds a block: `product` holds the logits of the tokens from first_token on.
  // Blocks must come in ascending order but may begin anywhere. `scratch` has
  // room for the block's logits; `all` receives them, or is null.
  void Add(int first_token, const ProductRow& product, float* scratch,
           float* all);
  // Appends the results of `next`, which has the blocks that follow.
  void Append(const RowCandidates& next);
  void Finish();

  // Higher logit first, then lower token.
  std::span<const Candidate> best() const { return best_; }
  // log(sum(exp(logit))) over all tokens but the watched ones.
  float rest_log_sum_exp() const { return rest_log_sum_exp_; }
  std::span<const float> watched() const { return watched_logits_; }

 private:
  struct BlockSum {
    float max;
    float sum;  // of exp(logit - max)
  };

  bool Watches(int first_token, int n) const;

  // Adds a candidate if it is better than the worst of the best.
  void Keep(const Candidate& candidate);
  // Adds the block's candidates; only logits of at least `bound` can be among
  // the best.
  void Collect(int first_token, std::span<const float> logits, float bound);

  size_t top_k_ = 0;
  std::span<const int32_t> watched_;
  size_t next_watched_ = 0;
  std::vector<Candidate> best_;  // a heap, worst on top, until Finish
  std::vector<float> watched_logits_;
  std::vector<BlockSum> sums_;
  float rest_log_sum_exp_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_CANDIDATES_H_
