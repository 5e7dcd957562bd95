#ifndef TRIVIUM_MODEL_KERNELS_MATMUL_H_
#define TRIVIUM_MODEL_KERNELS_MATMUL_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trivium {

// Operand types of a product y = x W^T:
//   kF32:  x f32, W f32  -> y f32
//   kBf16: x bf16, W bf16 -> y f32
//   kInt8: x u8, W s8    -> y s32, exact
enum class MatmulType { kF32, kBf16, kInt8 };

// Bytes of one element of x, and of W.
int OperandSize(MatmulType type);

// What all products of one W have in common: x is [rows, K], y [rows, N].
struct MatmulShape {
  MatmulType type;
  int n, k;  // of W, [N, K]

  size_t row_bytes() const {  // of x and of W
    return static_cast<size_t>(k) * OperandSize(type);
  }
  auto operator<=>(const MatmulShape&) const = default;
};

// Most rows of one product; larger inputs are cut by the caller.
inline constexpr int kMaxMatmulRows = 64;

// One worker's means to run products: oneDNN's handles and scratchpad. The
// matrices that it runs must outlive it. Not thread-safe.
class MatmulWorkspace {
 public:
  MatmulWorkspace();
  ~MatmulWorkspace();

 private:
  friend class DnnlMatrix;
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// Weights, packed for the faster of our own products (panel_product.h) and
// oneDNN's (dnnl_matrix.h).
class PackedMatrix {
 public:
  // `weights` is row-major [N, K] of the type's W (bf16 as uint16_t).
  static absl::StatusOr<std::unique_ptr<PackedMatrix>> Create(
      const MatmulShape& shape, const void* weights);
  virtual ~PackedMatrix() = default;
  PackedMatrix(const PackedMatrix&) = delete;
  PackedMatrix& operator=(const PackedMatrix&) = delete;

  const MatmulShape& shape() const { return shape_; }
  virtual int64_t bytes() const = 0;
  // What runs, for the log: "trivium:panels", or oneDNN's
  // "brg:avx512_core_amx".
  virtual std::string implementation() const = 0;

  // Whether each row of a product has the same bits whatever the row count
  // and its place among the rows.
  virtual bool batch_invariant() const = 0;

  // Rows that a product of `rows` really computes.
  virtual int ComputedRows(int rows) const = 0;

  // y = x W^T. x [rows, K] and y [rows, N] are contiguous. 1 <= rows <=
  // kMaxMatmulRows, but x must be readable and y writable for kMaxMatmulRows
  // rows: those up to ComputedRows(rows) are computed from whatever x holds.
  virtual absl::Status Multiply(const void* x, int rows, void* y,
                                MatmulWorkspace* workspace) const = 0;

 protected:
  explicit PackedMatrix(const MatmulShape& shape) : shape_(shape) {}

 private:
  const MatmulShape shape_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_MATMUL_H_
