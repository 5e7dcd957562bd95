#ifndef TRIVIUM_MODEL_TRANSFORMER_NEAR_HEADS_H_
#define TRIVIUM_MODEL_TRANSFORMER_NEAR_HEADS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "model/kernels/buffer.h"
#include "model/transformer/linear.h"
#include "model/transformer/rows.h"
#include "model/transformer/workspace.h"

namespace trivium {

struct AttentionTask;

// Computes the heads of NearHeadsDescription, which read the tokens around each
// token of a source. Their products process the rows of all sources together,
// and a row reads only its own source's. Each worker has one.
//
//   Resize(task, rows);
//   fill value(row) for all rows
//   Run(...);  // fills the second half of joined(row)
//   write attention's heads to the first half of joined(row)
class NearHeadsRunner {
 public:
  explicit NearHeadsRunner(const Formats& formats)
      : sums_(formats), spans_(formats) {}

  // Makes room for `rows` rows.
  void Resize(const AttentionTask& task, int rows);
  float* value(int row) { return values_.data() + Offset(row); }
  // The input of attention's output product for a row, [2 query_width].
  float* joined(int row) { return joined_.data() + 2 * Offset(row); }

  // `query` has the queries of all rows, `stride` floats apart; x of `rows` is
  // what attention reads.
  absl::Status Run(const AttentionTask& task, const float* query, size_t stride,
                   Rows* rows, Workspace* workspace);

 private:
  // Rows [first, end) of a row's source.
  struct Source {
    int first;
    int end;
  };

  size_t Offset(int row) const { return static_cast<size_t>(row) * width_; }
  // Calls f(k, near row) for each k whose token is in the row's source.
  template <typename F>
  void ForEachNear(int row, int width, const F& f) const;
  // Writes a row's heads of weights `weights` [heads, width].
  void Average(const AttentionTask& task, int row, const float* weights);

  int width_ = 0;                // query_width
  std::vector<Source> sources_;  // [rows]
  Buffer<float> values_;         // [rows, query_width]
  Buffer<float> joined_;         // [rows, 2 query_width]
  Operand sums_;                 // [rows, d_model]
  Operand spans_;                // [rows, query_width]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_NEAR_HEADS_H_
