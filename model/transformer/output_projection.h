#ifndef TRIVIUM_MODEL_TRANSFORMER_OUTPUT_PROJECTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_OUTPUT_PROJECTION_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/kernels/candidates.h"
#include "model/logits.h"
#include "model/transformer/linear.h"
#include "model/transformer/shortlist_projection.h"
#include "model/transformer/transformer.h"

namespace trivium {

// Answers what a step asks about logits: of the rows that are asked about, and
// of no others, logits are computed block by block of the vocabulary, and
// candidates are chosen while a block's logits are in the cache. Where the
// model narrows its states first, that is done here. Threads take
// blocks each. Rows whose source has a shortlist are multiplied with its
// tokens' columns only. One a worker.
//
//   projection.Start(rows, rows that ask for all);
//   projection.Add(x, query, allowed);   // for each row that is asked about
//   projection.Run(&workspace);
//   projection.answers()                 // in this order, until Start
class OutputProjection {
 public:
  // `weights` has a decoder and outlives this.
  explicit OutputProjection(const Transformer& weights);

  // At most `rows` rows will be added, of which so many ask for all logits.
  void Start(int rows, int all_rows);
  // `x`: [d_model], read at once; `query` and `allowed` live until Run is done.
  // `allowed` is null for the whole vocabulary. A query that asks for nothing
  // gets an empty answer.
  void Add(const float* x, const LogitsQuery& query,
           const AllowedTokens* allowed);
  absl::Status Run(Workspace* workspace);

  std::span<const LogitsRow> answers() const { return answers_; }
  // Of them, the rows that were computed.
  int projected() const { return projected_; }

 private:
  absl::Status Narrow(Workspace* workspace);
  absl::Status Project(Workspace* workspace);

  const Transformer& weights_;
  const int vocabulary_;
  const int d_model_;
  std::vector<LogitsRow> answers_;
  int projected_ = 0;
  // Of the rows that are multiplied with everything:
  Operand x_;
  Operand narrow_;           // x_ narrowed, if it is
  std::vector<int> places_;  // among the answers
  std::vector<float*> all_;  // or null
  std::vector<const LogitsQuery*> queries_;
  // [threads, rows], or more rows.
  std::vector<std::vector<RowCandidates>> candidates_;
  ShortlistRows shortlist_rows_;  // the others
  Buffer<float> all_logits_;      // [rows that ask, vocabulary]
  int all_rows_ = 0;              // of these, given out
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_OUTPUT_PROJECTION_H_
