#ifndef TRIVIUM_MODEL_TRANSFORMER_LATENT_ATTENTION_H_
#define TRIVIUM_MODEL_TRANSFORMER_LATENT_ATTENTION_H_

#include <cstddef>

#include "absl/status/status.h"
#include "model/kernels/buffer.h"
#include "model/transformer/linear.h"
#include "model/transformer/rows.h"

namespace trivium {

struct AttentionTask;

// The products of latent attention (LatentDescription) before and after the
// attention itself, which reads one key-value head [k, c] a token:
//
//   q_h = [t_h, p_h]                 from the row's input
//   query of head h = [R t_h, K_h^T p_h]
//   y = W_o [V_1 s_1, V_2 s_2, ...]  s_h = [not used, sum of weights c]
//
// A row is computed in the same way whether it is part of a prompt or alone, so
// its bits are the same. Each worker has one.
class LatentProducts {
 public:
  explicit LatentProducts(const Formats& formats)
      : low_(formats), plain_(formats), sums_(formats) {}

  // Computes the rows' queries, `stride` floats apart, and stores their keys.
  absl::Status Project(const AttentionTask& task, Rows* rows, float* query,
                       size_t stride, Workspace* workspace);
  // Writes the input of W_o to `rows->other`. `sums` is attention's output,
  // `stride` floats apart.
  absl::Status Output(const AttentionTask& task, const float* sums,
                      size_t stride, Rows* rows, Workspace* workspace);

 private:
  // Distributes the heads q [heads, turned + plain] of a row. Changes q.
  void SetQuery(const AttentionTask& task, int row, int rows, float* q,
                float* query);

  Operand low_;            // narrow queries, [rows, their width]
  Operand plain_;          // p, [heads, rows, plain]
  Operand sums_;           // s, [heads, rows, rank]
  Buffer<float> outputs_;  // [rows, heads x value]
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_LATENT_ATTENTION_H_
