#ifndef TRIVIUM_MODEL_KERNELS_DNNL_MATRIX_H_
#define TRIVIUM_MODEL_KERNELS_DNNL_MATRIX_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/kernels/buffer.h"
#include "model/kernels/matmul.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace trivium {

// oneDNN's primitives for one shape: one for each of the row counts 1, 2, 4, 8,
// 12 .. 64, all with the same packed layout of the weights. All matrices of
// that shape share them.
class DnnlProducts;

// Weights that oneDNN multiplies. A product runs with the next greater row
// count of DnnlProducts. If products of different row counts differ in bits
// (bf16, and f32 on other CPUs than x86), it is divided into products of 16
// rows instead; a test at the first matrix of a shape finds out.
class DnnlMatrix : public PackedMatrix {
 public:
  static absl::StatusOr<std::unique_ptr<DnnlMatrix>> Create(
      const MatmulShape& shape, const void* weights);
  // Takes weights that were packed before (PackedMatrix::Create).
  static absl::StatusOr<std::unique_ptr<DnnlMatrix>> Create(
      const MatmulShape& shape, RawBuffer packed);

  std::span<const std::byte> packed() const override;
  std::string implementation() const override;
  bool batch_invariant() const override;
  int ComputedRows(int rows) const override;
  // oneDNN's products are not divided.
  int column_block() const override { return shape().n; }
  absl::Status MultiplyColumns(const void* x, int rows, int begin, int end,
                               void* y,
                               MatmulWorkspace* workspace) const override;

 private:
  using PackedMatrix::PackedMatrix;

  absl::Status Pack(const void* weights);
  // Runs once per shape: decides whether `products_` divides rows and whether
  // it is invariant.
  absl::Status TestInvariance();
  // Returns true if a row's product has the same bits at every place of every
  // product.
  absl::StatusOr<bool> RowsAgree() const;

  std::shared_ptr<DnnlProducts> products_;
  RawBuffer packed_;
  dnnl::memory memory_;  // a view of packed_
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_KERNELS_DNNL_MATRIX_H_
