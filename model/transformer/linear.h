#ifndef TRIVIUM_MODEL_TRANSFORMER_LINEAR_H_
#define TRIVIUM_MODEL_TRANSFORMER_LINEAR_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"
#include "model/kernels/buffer.h"
#include "model/kernels/matmul.h"
#include "model/kernels/row_ops.h"
#include "model/transformer/description.h"
#include "model/transformer/formats.h"

namespace trivium {

// Rows of activations in the form that products read.
class Operand {
 public:
  explicit Operand(OperandType type);

  // Makes room for `rows` rows of `k` values; contents are lost when it grows
  // or when `k` changes.
  void Resize(int rows, int k);
  // Converts x [k] to row `row`. Whoever made x may know its range.
  void Set(int row, const float* x);
  void Set(int row, const float* x, Range range);
  // Row `to` becomes what row `from` is.
  void Copy(int from, int to);

  const void* row(int row) const {
    return data_.data() + static_cast<size_t>(row) * k_ * size_;
  }
  RowScale scale(int row) const { return scales_.data()[row]; }
  int k() const { return k_; }

 private:
  OperandType type_;
  int size_;    // bytes of a value
  int levels_;  // of int8
  int k_ = 0;
  Buffer<char> data_;
  Buffer<RowScale> scales_;
};

// Symmetric s8 with one scale for an output channel: w ~ scale * q. `offset` as
// in ProductRow.
void QuantizeWeights(std::span<const float> w, int8_t* q, float* scale,
                     float* offset);

// One worker's scratch for Linear::Forward.
struct LinearScratch {
  MatmulWorkspace workspace;
  Buffer<int32_t> product;   // [kMaxMatmulRows, N], s32 or f32
  Buffer<float> row;         // [N]
  int64_t padding_rows = 0;  // computed but not asked for
};

// y = W x + b. Several layers that read the same
// input are stacked into one (Q, K and V; all decoder layers' cross K and V).
class Linear {
 public:
  // Outputs of `parts` one after the other; all have the same input width.
  // Only rows [begin, begin + count) of each weight are taken if count > 0.
  // `smoothing`: [in] factors that x is multiplied by before Forward, see
  // smoothing.h; weights are divided by them.
  static absl::StatusOr<Linear> Create(const Formats& formats,
                                       std::span<const LinearTensors> parts,
                                       int64_t begin = 0, int64_t count = 0,
                                       AlignedVector<float> smoothing = {});
  Linear() = default;

  int in() const { return matrix_->shape().k; }
  int out() const { return matrix_->shape().n; }
  int64_t bytes() const;
  // What x comes multiplied by; empty: nothing.
  const AlignedVector<float>& smoothing() const { return smoothing_; }
  bool batch_invariant() const { return matrix_->batch_invariant(); }

  // Computes rows [0, rows) of x and calls sink(row, product) for each in
  // order, with a ProductRow that FinishRow and others make real numbers, for
  // example in scratch->row, which has room for out() of them: dequantization,
  // bias and what comes next (activation, residual, norm, quantization for the
  // next product) happen while the row is in the first cache.
  template <typename Sink>
  absl::Status Forward(const Operand& x, int rows, LinearScratch* scratch,
                       Sink sink) const {
    const int chunk = ChunkRows();
    int32_t* product =
        scratch->product.Reserve(static_cast<size_t>(kMaxMatmulRows) * out());
    scratch->row.Reserve(out());
    // Chunks of nearly one size: a small last one would be slow.
    const int chunks = (rows + chunk - 1) / chunk;
    for (int i = 0, first = 0, count; i < chunks; ++i, first += count) {
      count = (rows - first) / (chunks - i);
      scratch->padding_rows += matrix_->ComputedRows(count) - count;
      TRIVIUM_RETURN_IF_ERROR(
          matrix_->Multiply(x.row(first), count, product, &scratch->workspace));
      for (int j = 0; j < count; ++j) {
        sink(first + j,
             Row(product + static_cast<size_t>(j) * out(), x, first + j));
      }
    }
    return absl::OkStatus();
  }

 private:
  // Rows of one product: as many as keep its output within half a megabyte,
  // so that it is still in the second cache when its rows are finished.
  int ChunkRows() const {
    return std::clamp((128 << 10) / out() / 16 * 16, 16, kMaxMatmulRows);
  }
  ProductRow Row(const int32_t* product, const Operand& x, int row) const;

  std::unique_ptr<PackedMatrix> matrix_;
  AlignedVector<float> bias_;    // [out], or empty
  AlignedVector<float> scale_;   // [out], int8 only
  AlignedVector<float> offset_;  // [out], int8 only
  AlignedVector<float> smoothing_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_LINEAR_H_
