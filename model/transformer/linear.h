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

struct PackedPiece;
class PartPieces;

// Rows of activations in the format that products read.
class Operand {
 public:
  // If `hadamard`, rows are rotated before quantization (hadamard.h); int8 and
  // groups of int8 only.
  explicit Operand(OperandType type, bool hadamard = false);
  explicit Operand(const Formats& formats)
      : Operand(formats.operands, formats.hadamard) {}

  // Makes room for `rows` rows of `k` values. Contents are lost when it grows
  // or when `k` changes.
  void Resize(int rows, int k);
  // Converts x [k] to row `row`. The second form is for callers that know the
  // range of x.
  void Set(int row, const float* x);
  void Set(int row, const float* x, Range range);
  // Copies row `from` to row `to`, of this operand or of another of the same
  // type.
  void Copy(int from, int to) { CopyFrom(*this, from, to); }
  void CopyFrom(const Operand& other, int from, int to);

  const void* row(int row) const {
    return data_.data() + static_cast<size_t>(row) * row_bytes_;
  }
  RowScale scale(int row) const { return scales_.data()[row]; }
  int k() const { return k_; }

 private:
  OperandType type_;
  bool hadamard_;
  int k_ = 0;
  size_t row_bytes_ = 0;
  Buffer<char> data_;
  Buffer<RowScale> scales_;
};

// Quantizes the weights w of one output channel to symmetric s8 with one scale:
// w ~ scale * q. `offset` is as in ProductRow.
void QuantizeWeights(std::span<const float> w, int8_t* q, float* scale,
                     float* offset);

// The default `may_cut`: threads may divide rows anywhere.
struct AnyRow {
  bool operator()(int) const { return true; }
};

// y = W x + b. Several layers that read the same input are stacked into one (Q,
// K and V; all decoder layers' cross K and V).
class Linear {
 public:
  // Packs the weights of `parts`, whose outputs follow one another; all must
  // have the same input width. If count > 0, only rows [begin, begin + count)
  // of each weight are used. `smoothing` [in] are factors that the caller
  // multiplies x by before Forward (smoothing.h); weights are divided by them
  // here.
  static absl::StatusOr<Linear> Create(const Formats& formats,
                                       std::span<const LinearTensors> parts,
                                       int64_t begin = 0, int64_t count = 0,
                                       AlignedVector<float> smoothing = {});
  // The same for weights that were packed before, as `pieces` has them. Biases
  // come from the tensors.
  static absl::StatusOr<Linear> Read(const Formats& formats,
                                     std::span<const LinearTensors> parts,
                                     int64_t begin, int64_t count,
                                     const PartPieces& pieces);
  Linear() = default;

  // The number of this part (Packing); -1: it has none.
  int part() const { return part_; }
  void set_part(int part) { part_ = part; }
  // Adds what Read needs.
  void AddPieces(std::vector<PackedPiece>* pieces) const;

  int in() const { return matrix_->shape().k; }
  int out() const { return matrix_->shape().n; }
  int64_t bytes() const;
  // The factors that the caller multiplies x by; empty if there are none.
  const AlignedVector<float>& smoothing() const { return smoothing_; }
  bool batch_invariant() const { return matrix_->batch_invariant(); }
  // Reads the weights of output `out`, [in()]; only of weights in groups.
  void ReadWeights(int out, float* w) const { matrix_->ReadWeights(out, w); }

  // Computes rows [0, rows) of x on the workspace's threads. For each row it
  // calls sink(row, product, y). `product` is a ProductRow, which FinishRow and
  // others convert to floats, for example in y, which has room for out() of
  // them. So dequantization, bias and what follows (activation, residual, norm,
  // quantization for the next product) happen while the row is in the
  // first-level cache. A thread processes consecutive rows in order. Two
  // threads process adjacent rows `row - 1` and `row` only if may_cut(row).
  template <typename Sink, typename MayCut = AnyRow>
  absl::Status Forward(const Operand& x, int rows, Workspace* workspace,
                       const Sink& sink, const MayCut& may_cut = {}) const {
    if (workspace->threads() == 1) {
      return ForwardRows(x, 0, rows, &workspace->thread(0), sink);
    }
    // Moves a cut at `row` to the next allowed place within [first, last].
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

  // Computes rows [begin, end) on the calling thread, as Forward does.
  template <typename Sink>
  absl::Status ForwardRows(const Operand& x, int begin, int end,
                           Workspace::Thread* thread, Sink sink) const {
    const int chunk = ChunkRows();
    int32_t* product =
        thread->product.Reserve(static_cast<size_t>(kMaxMatmulRows) * out());
    float* y = thread->row.Reserve(out());
    // Chunks of nearly equal size, because a small last one would be slow.
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
  // True if threads split the rows; else they split the columns.
  bool CutsRows(int rows, int threads) const;
  // Rows whose finishing after a product justifies another thread.
  int LeastRows() const { return std::clamp(kLeastNumbers / out(), 1, 16); }
  // Computes y [rows, N] = x W^T; threads split the columns.
  absl::Status MultiplyTogether(const void* x, int rows, int32_t* y,
                                Workspace* workspace) const;
  // Returns the rows of one product: as many as keep its output within 0.5 MB,
  // so that it is still in the second-level cache when rows are finished.
  int ChunkRows() const {
    return std::clamp((128 << 10) / out() / 16 * 16, 16, kMaxMatmulRows);
  }
  // Returns row `place` of the products [rows, N], which is the product of x's
  // row `row`.
  ProductRow Row(const int32_t* products, int place, const Operand& x,
                 int row) const;

  static constexpr int kLeastNumbers = 4096;

  int part_ = -1;
  std::unique_ptr<PackedMatrix> matrix_;
  AlignedVector<float> bias_;    // [out], or empty
  AlignedVector<float> scale_;   // [out], int8 only
  AlignedVector<float> offset_;  // [out], int8 only
  AlignedVector<float> smoothing_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_LINEAR_H_
