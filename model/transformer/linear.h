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
#include "model/transformer/workspace.h"

namespace trivium {

// Rows of activations in the form that products read.
class Operand {
 public:
  // `rotated`: rows are rotated first (rotation.h), of int8 only.
  explicit Operand(OperandType type, bool rotated = false);
  explicit Operand(const Formats& formats)
      : Operand(formats.operands, formats.rotated) {}

  // Makes room for `rows` rows of `k` values; contents are lost when it grows
  // or when `k` changes.
  void Resize(int rows, int k);
  // Converts x [k] to row `row`. Whoever made x may know its range.
  void Set(int row, const float* x);
  void Set(int row, const float* x, Range range);
  // Row `to` becomes what row `from` is, of this or of another of its type.
  void Copy(int from, int to) { CopyFrom(*this, from, to); }
  void CopyFrom(const Operand& other, int from, int to);

  const void* row(int row) const {
    return data_.data() + static_cast<size_t>(row) * k_ * size_;
  }
  RowScale scale(int row) const { return scales_.data()[row]; }
  int k() const { return k_; }

 private:
  OperandType type_;
  bool rotated_;
  int size_;  // bytes of a value
  int k_ = 0;
  Buffer<char> data_;
  Buffer<RowScale> scales_;
};

// Symmetric s8 with one scale for an output channel: w ~ scale * q. `offset` as
// in ProductRow.
void QuantizeWeights(std::span<const float> w, int8_t* q, float* scale,
                     float* offset);

// Where rows may be cut for threads: before any of them.
struct AnyRow {
  bool operator()(int) const { return true; }
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

  // Computes rows [0, rows) of x on the workspace's threads and calls
  // sink(row, product, y) for each, with a ProductRow that FinishRow and others
  // make real numbers, for example in y, which has room for out() of them:
  // dequantization, bias and what comes next (activation, residual, norm,
  // quantization for the next product) happen while the row is in the first
  // cache. A thread has rows that follow each other, in order; two threads have
  // neighbours `row - 1` and `row` only where may_cut(row).
  template <typename Sink, typename MayCut = AnyRow>
  absl::Status Forward(const Operand& x, int rows, Workspace* workspace,
                       const Sink& sink, const MayCut& may_cut = {}) const {
    if (workspace->threads() == 1) {
      return ForwardRows(x, 0, rows, &workspace->thread(0), sink);
    }
    // Where a cut between the first and the last of some rows moves to.
    const auto cut = [&](int first, int row, int last) {
      while (row > first && row < last && !may_cut(row)) ++row;
      return row;
    };
    if (CutsRows(rows, workspace->threads())) {
      return workspace->Run(rows, 1, [&](int begin, int end, int thread) {
        return ForwardRows(x, cut(0, begin, rows), cut(0, end, rows),
                           &workspace->thread(thread), sink);
      });
    }
    int32_t* product =
        workspace->product.Reserve(static_cast<size_t>(kMaxMatmulRows) * out());
    const int chunks = (rows + kMaxMatmulRows - 1) / kMaxMatmulRows;
    for (int i = 0, first = 0, count; i < chunks; ++i, first += count) {
      count = (rows - first) / (chunks - i);
      TRIVIUM_RETURN_IF_ERROR(
          MultiplyTogether(x.row(first), count, product, workspace));
      workspace->team().Run(
          count, LeastRows(), [&](int begin, int end, int thread) {
            float* y = workspace->thread(thread).row.Reserve(out());
            const int last = first + count;
            end = cut(first, first + end, last);
            for (int row = cut(first, first + begin, last); row < end; ++row) {
              sink(row, Row(product, row - first, x, row), y);
            }
          });
    }
    return absl::OkStatus();
  }

  // The same for rows [begin, end) on one thread.
  template <typename Sink>
  absl::Status ForwardRows(const Operand& x, int begin, int end,
                           Workspace::Thread* thread, Sink sink) const {
    const int chunk = ChunkRows();
    int32_t* product =
        thread->product.Reserve(static_cast<size_t>(kMaxMatmulRows) * out());
    float* y = thread->row.Reserve(out());
    // Chunks of nearly one size: a small last one would be slow.
    const int chunks = (end - begin + chunk - 1) / chunk;
    for (int i = 0, first = begin, count; i < chunks; ++i, first += count) {
      count = (end - first) / (chunks - i);
      thread->padding_rows += matrix_->ComputedRows(count) - count;
      TRIVIUM_RETURN_IF_ERROR(
          matrix_->Multiply(x.row(first), count, product, &thread->products));
      for (int j = 0; j < count; ++j) {
        sink(first + j, Row(product, j, x, first + j), y);
      }
    }
    return absl::OkStatus();
  }

 private:
  // Whether threads take rows each; else they take columns of all.
  bool CutsRows(int rows, int threads) const;
  // Of what follows a product, that are worth another thread.
  int LeastRows() const { return std::clamp(kLeastNumbers / out(), 1, 16); }
  // y [rows, N] = x W^T, columns of it on each thread.
  absl::Status MultiplyTogether(const void* x, int rows, int32_t* y,
                                Workspace* workspace) const;
  // Rows of one product: as many as keep its output within half a megabyte,
  // so that it is still in the second cache when its rows are finished.
  int ChunkRows() const {
    return std::clamp((128 << 10) / out() / 16 * 16, 16, kMaxMatmulRows);
  }
  // Row `place` of the products [rows, N] is that of x's row `row`.
  ProductRow Row(const int32_t* products, int place, const Operand& x,
                 int row) const;

  static constexpr int kLeastNumbers = 4096;

  std::unique_ptr<PackedMatrix> matrix_;
  AlignedVector<float> bias_;    // [out], or empty
  AlignedVector<float> scale_;   // [out], int8 only
  AlignedVector<float> offset_;  // [out], int8 only
  AlignedVector<float> smoothing_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_LINEAR_H_
