#ifndef TRIVIUM_MODEL_KERNELS_MATMUL_H_
#define TRIVIUM_MODEL_KERNELS_MATMUL_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernels/buffer.h"

namespace trivium {

// What a weight is stored as.
enum class WeightType {
  kF32,
  kBf16,
  kInt8,  // s8, with a scale for each output, which is not the product's
};

// What a product reads.
enum class OperandType {
  kF32,
  kBf16,
  kInt8,  // u8, with a scale and a zero point for each row (RowScale)
};

// Bytes of one number.
int SizeOf(WeightType type);
int SizeOf(OperandType type);

// What all products y = x W^T of one W have in common: x is [rows, K], y
// [rows, N], s32 and exact where integers are multiplied, else f32.
struct MatmulShape {
  WeightType weights;
  OperandType operands;
  int n, k;  // of W, [N, K]

  size_t weight_row_bytes() const {
    return static_cast<size_t>(k) * SizeOf(weights);
  }
  size_t operand_row_bytes() const {
    return static_cast<size_t>(k) * SizeOf(operands);
  }
  auto operator<=>(const MatmulShape&) const = default;
};

// Most rows of one product; larger inputs are cut by the caller.
inline constexpr int kMaxMatmulRows = 64;

// One worker's means to run products: a scratchpad and oneDNN's handles. The
// matrices that it runs must outlive it. Not thread-safe.
class MatmulWorkspace {
 public:
  MatmulWorkspace();
  ~MatmulWorkspace();

  // Memory for one product.
  Buffer<char>* scratchpad() { return &scratchpad_; }

 private:
  friend class DnnlMatrix;
  struct Rep;
  Buffer<char> scratchpad_;
  std::unique_ptr<Rep> rep_;
};

// Weights, packed for the fastest product: AMX's tiles (tile_product.h), panels
// (panel_product.h) or oneDNN's (dnnl_matrix.h).
class PackedMatrix {
 public:
  // `weights` is row-major [N, K] of shape.weights (bf16 as uint16_t).
  // INVALID_ARGUMENT where no product multiplies these weights and operands:
  // so far both are f32, bf16 or int8.
  static absl::StatusOr<std::unique_ptr<PackedMatrix>> Create(
      const MatmulShape& shape, const void* weights);
  virtual ~PackedMatrix() = default;
  PackedMatrix(const PackedMatrix&) = delete;
  PackedMatrix& operator=(const PackedMatrix&) = delete;

  const MatmulShape& shape() const { return shape_; }
  virtual int64_t bytes() const = 0;
  // What runs, for the log: "trivium:tiles", "trivium:panels", or oneDNN's
  // "brg:avx2".
  virtual std::string implementation() const = 0;

  // Whether each row of a product has the same bits whatever the row count
  // and its place among the rows.
  virtual bool batch_invariant() const = 0;

  // Rows that a product of `rows` really computes.
  virtual int ComputedRows(int rows) const = 0;

  // y = x W^T. x [rows, K] and y [rows, N] are contiguous. 1 <= rows <=
  // kMaxMatmulRows, but x must be readable and y writable for kMaxMatmulRows
  // rows: those up to ComputedRows(rows) are computed from whatever x holds.
  absl::Status Multiply(const void* x, int rows, void* y,
                        MatmulWorkspace* workspace) const {
    return MultiplyColumns(x, rows, 0, shape_.n, y, workspace);
  }

  // A product may be cut into blocks of this many columns, which threads with a
  // workspace each may multiply at once; N where it may not be cut. Bits do not
  // depend on the cut.
  virtual int column_block() const = 0;

  // Columns [begin, end) of the same y [rows, N], which leaves the others as
  // they are. `begin` is a multiple of column_block(), and so is `end` or it is
  // N.
  virtual absl::Status MultiplyColumns(const void* x, int rows, int begin,
                                       int end, void* y,
                                       MatmulWorkspace* workspace) const = 0;

 protected:
  explicit PackedMatrix(const MatmulShape& shape) : shape_(shape) {}

 private:
  const MatmulShape shape_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_MATMUL_H_
