#include "model/kernels/matmul.h"

#include "model/kernels/buffer.h"
#include "model/kernels/dnnl_matrix.h"
#include "model/kernels/panel_product.h"

namespace trivium {
namespace {

class PanelMatrix : public PackedMatrix {
 public:
  static bool Serves(const MatmulShape& shape) {
    return (shape.type == MatmulType::kF32 && HasFloatPanels()) ||
           (shape.type == MatmulType::kInt8 && HasBytePanels(shape.k));
  }

  PanelMatrix(const MatmulShape& shape, const void* weights)
      : PackedMatrix(shape), panels_(PanelsBytes(shape.n, shape.row_bytes())) {
    PackPanels(weights, shape.n, shape.row_bytes(), panels_.data());
  }

  int64_t bytes() const override {
    return static_cast<int64_t>(PanelsBytes(shape().n, shape().row_bytes()));
  }
  std::string implementation() const override { return "trivium:panels"; }
  bool batch_invariant() const override { return true; }
  int ComputedRows(int rows) const override { return rows; }

  absl::Status Multiply(const void* x, int rows, void* y,
                        MatmulWorkspace*) const override {
    const auto [type, n, k] = shape();
    if (type == MatmulType::kInt8) {
      PanelProduct(static_cast<const int8_t*>(panels_.data()), n, k,
                   static_cast<const uint8_t*>(x), rows,
                   static_cast<int32_t*>(y));
    } else {
      PanelProduct(static_cast<const float*>(panels_.data()), n, k,
                   static_cast<const float*>(x), rows, static_cast<float*>(y));
    }
    return absl::OkStatus();
  }

 private:
  const RawBuffer panels_;
};

}  // namespace

int OperandSize(MatmulType type) {
  return type == MatmulType::kF32 ? 4 : type == MatmulType::kBf16 ? 2 : 1;
}

absl::StatusOr<std::unique_ptr<PackedMatrix>> PackedMatrix::Create(
    const MatmulShape& shape, const void* weights) {
  if (PanelMatrix::Serves(shape)) {
    return std::make_unique<PanelMatrix>(shape, weights);
  }
  return DnnlMatrix::Create(shape, weights);
}

}  // namespace trivium
