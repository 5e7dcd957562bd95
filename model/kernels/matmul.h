#ifndef TRIVIUM_MODEL_KERNELS_MATMUL_H_
#define TRIVIUM_MODEL_KERNELS_MATMUL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernels/buffer.h"

namespace trivium {

// Operand types of a product y = x W^T:
//   kF32:  x f32, W f32  -> y f32
//   kBf16: x bf16, W bf16 -> y f32
//   kInt8: x u8, W s8    -> y s32, exact
enum class MatmulType { kF32, kBf16, kInt8 };

// Bytes of one element of x.
int OperandSize(MatmulType type);

// Most rows of one product; larger inputs are cut by the caller.
inline constexpr int kMaxMatmulRows = 64;

// oneDNN's primitives for one (type, K, N), one for each row bucket, all with
// one packed layout of the weights. Shared by all matrices of that shape.
class MatmulShape;

// Weights [N, K], packed for the faster of our own products (panel_product.h)
// and oneDNN's.
class PackedMatrix {
 public:
  // `weights` is row-major [N, K] of the type's W (bf16 as uint16_t).
  static absl::StatusOr<PackedMatrix> Create(MatmulType type, int n, int k,
                                             const void* weights);
  PackedMatrix();
  ~PackedMatrix();
  PackedMatrix(PackedMatrix&&) noexcept;
  PackedMatrix& operator=(PackedMatrix&&) noexcept;

  int n() const;
  int k() const;
  MatmulType type() const;
  int64_t bytes() const;
  // What runs, for the log: "trivium:panels", or oneDNN's
  // "brg:avx512_core_amx".
  std::string implementation() const;

  // Whether each row of a product has the same bits whatever the row count
  // and its place among the rows, as the self-test at the first matrix of this
  // shape found.
  bool batch_invariant() const;

  // Rows that a product of `rows` really computes. Our own: these. oneDNN's:
  // the next of the buckets 1, 2, 4, 8, 12 .. 64; or a multiple of 16 where
  // only calls of one fixed row count are invariant (f32 without AVX-512).
  int ComputedRows(int rows) const;

 private:
  friend class MatmulRunner;
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// One worker's means to run products: oneDNN's memory handles and scratchpad.
// Not thread-safe.
class MatmulRunner {
 public:
  MatmulRunner();
  ~MatmulRunner();

  // y = x W^T. x [rows, K] and y [rows, N] are contiguous. 1 <= rows <=
  // kMaxMatmulRows, but x must be readable and y writable for kMaxMatmulRows
  // rows: those up to ComputedRows(rows) are computed from whatever x holds.
  absl::Status Run(const PackedMatrix& matrix, const void* x, int rows,
                   void* y);

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_MATMUL_H_
