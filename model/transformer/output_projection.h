#ifndef TRIVIUM_MODEL_TRANSFORMER_OUTPUT_PROJECTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_OUTPUT_PROJECTION_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/kernels/buffer.h"
#include "model/kernels/candidates.h"
#include "model/logits.h"
#include "model/transformer/linear.h"
#include "model/transformer/shortlist_projection.h"
#include "model/transformer/transformer.h"

namespace trivium {

// Answers a step's queries for logits. Logits are computed only for the rows
// that have a query, block by block of the vocabulary; candidates are chosen
// while a block's logits are in the cache. A model's output narrowing, if any,
// is applied first. Threads split the blocks. Rows whose source has a shortlist
// are multiplied with its tokens' columns only. Each worker has one.
//
//   projection.Start(rows, rows that request all logits);
//   projection.Add(x, query, allowed);   // for each row with a query
//   projection.Run(&workspace);
//   projection.answers()                 // in the order of Add, until Start
class OutputProjection {
 public:
  // `weights` must have a decoder and outlive this object.
  explicit OutputProjection(const Transformer& weights);

  // Announces at most `rows` rows, of which `all_rows` request all logits.
  void Start(int rows, int all_rows);
  // Adds a row x [d_model], which is copied. `query` and `allowed` must live
  // until Run returns; `allowed` is null for the whole vocabulary. An empty
  // query gets an empty answer.
  void Add(const float* x, const LogitsQuery& query,
           const AllowedTokens* allowed);
  absl::Status Run(Workspace* workspace);

  std::span<const LogitsRow> answers() const { return answers_; }
  // Number of rows whose logits were computed.
  int projected() const { return projected_; }

 private:
  absl::Status Narrow(Workspace* workspace);
  absl::Status Project(Workspace* workspace);

  const Transformer& weights_;
  const int vocabulary_;
  const int d_model_;
  std::vector<LogitsRow> answers_;
  int projected_ = 0;
  // The rows that are multiplied with the whole vocabulary:
  Operand x_;
  Operand narrow_;           // x_ after output narrowing, if any
  Buffer<float> scaled_;     // [d_model], a row times the logit factor
  std::vector<int> places_;  // [rows], indices of answers_
  std::vector<float*> all_;  // or null
  std::vector<const LogitsQuery*> queries_;
  // [threads, rows or more].
  std::vector<std::vector<RowCandidates>> candidates_;
  ShortlistRows shortlist_rows_;  // the rows with a shortlist
  Buffer<float> all_logits_;      // [rows that ask, vocabulary]
  int all_rows_ = 0;              // rows of all_logits_ in use
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_OUTPUT_PROJECTION_H_
