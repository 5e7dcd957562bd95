// The choice of a product's implementation, by its shape and the CPU alone:
//   1. TileMatrix    AMX: bf16 and int8, for fitting k
//   2. PanelMatrix   AVX2 and above, NEON: f32 and int8
//   3. DnnlMatrix    whatever is left
// Weights in groups always are a GroupedMatrix.
//
// Packed bytes are laid out for one implementation. Both Create functions ask
// in the same order, so bytes that one made are read by the same class on a CPU
// of the same kind.
#include "model/kernels/matmul.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "model/kernels/buffer.h"
#include "model/kernels/dnnl_matrix.h"
#include "model/kernels/grouped_product.h"
#include "model/kernels/panel_product.h"
#include "model/kernels/tile_product.h"

namespace trivium {
namespace {

class PanelMatrix : public PackedMatrix {
 public:
  static bool Serves(const MatmulShape& shape) {
    return shape.weights != WeightType::kBf16;
  }

  static size_t BytesOf(const MatmulShape& shape) {
    return PanelsBytes(shape.n, shape.weight_row_bytes());
  }

  PanelMatrix(const MatmulShape& shape, RawBuffer packed)
      : PackedMatrix(shape), panels_(std::move(packed)) {}
  PanelMatrix(const MatmulShape& shape, const void* weights)
      : PanelMatrix(shape, RawBuffer(BytesOf(shape))) {
    if (shape.weights == WeightType::kInt8) {
      PackPanels(static_cast<const int8_t*>(weights), shape.n, shape.k,
                 panels_.data());
    } else {
      PackPanels(static_cast<const float*>(weights), shape.n, shape.k,
                 panels_.data());
    }
  }

  std::span<const std::byte> packed() const override {
    return {static_cast<const std::byte*>(panels_.data()), BytesOf(shape())};
  }
  std::string implementation() const override { return "trivium:panels"; }
  bool batch_invariant() const override { return true; }
  int ComputedRows(int rows) const override { return rows; }

  int column_block() const override { return kPanelColumns; }

  absl::Status MultiplyColumns(const void* x, int rows, int begin, int end,
                               void* y,
                               MatmulWorkspace* workspace) const override {
    const int n = shape().n, k = shape().k;
    if (shape().weights == WeightType::kInt8) {
      PanelProduct(panels_.data(), n, k, static_cast<const uint8_t*>(x), rows,
                   begin, end, static_cast<int32_t*>(y),
                   workspace->scratchpad());
    } else {
      PanelProduct(panels_.data(), n, k, static_cast<const float*>(x), rows,
                   begin, end, static_cast<float*>(y));
    }
    return absl::OkStatus();
  }

 private:
  const RawBuffer panels_;
};

class TileMatrix : public PackedMatrix {
 public:
  static bool Serves(const MatmulShape& shape) {
    return (shape.weights == WeightType::kBf16 && HasBf16Tiles(shape.k)) ||
           (shape.weights == WeightType::kInt8 && HasByteTiles(shape.k));
  }

  static size_t BytesOf(const MatmulShape& shape) {
    return StripsBytes(shape.n, shape.weight_row_bytes());
  }

  TileMatrix(const MatmulShape& shape, RawBuffer packed)
      : PackedMatrix(shape), strips_(std::move(packed)) {}
  TileMatrix(const MatmulShape& shape, const void* weights)
      : TileMatrix(shape, RawBuffer(BytesOf(shape))) {
    PackStrips(weights, shape.n, shape.weight_row_bytes(), strips_.data());
  }

  std::span<const std::byte> packed() const override {
    return {static_cast<const std::byte*>(strips_.data()), BytesOf(shape())};
  }
  std::string implementation() const override { return "trivium:tiles"; }
  bool batch_invariant() const override { return true; }
  int ComputedRows(int rows) const override { return rows; }

  int column_block() const override { return kStripColumns; }

  absl::Status MultiplyColumns(const void* x, int rows, int begin, int end,
                               void* y, MatmulWorkspace*) const override {
    const int n = shape().n, k = shape().k;
    if (shape().weights == WeightType::kInt8) {
      TileProduct(static_cast<const int8_t*>(strips_.data()), n, k,
                  static_cast<const uint8_t*>(x), rows, begin, end,
                  static_cast<int32_t*>(y));
    } else {
      TileProduct(static_cast<const uint16_t*>(strips_.data()), n, k,
                  static_cast<const uint16_t*>(x), rows, begin, end,
                  static_cast<float*>(y));
    }
    return absl::OkStatus();
  }

 private:
  const RawBuffer strips_;
};

class GroupedMatrix : public PackedMatrix {
 public:
  GroupedMatrix(GroupedWeights weights, OperandType operands,
                std::vector<OrderedColumns> ordered)
      : PackedMatrix({WeightType::kGroups, operands, weights.n(), weights.k()}),
        weights_(std::move(weights)),
        ordered_(std::move(ordered)) {
    if (ordered_.empty()) ordered_.push_back({0, weights_.n(), {}});
  }

  std::span<const std::byte> packed() const override {
    return weights_.packed();
  }
  std::string implementation() const override { return "trivium:groups"; }
  bool batch_invariant() const override { return true; }
  int ComputedRows(int rows) const override { return rows; }

  int column_block() const override { return GroupedWeights::kColumns; }

  size_t prepared_row_bytes() const override {
    return shape().operands == OperandType::kOrderedGroups
               ? ordered_.size() * GroupedOperandBytes(shape().k)
               : 0;
  }
  // A prepared row has the groups of all `ordered_`, one after the other.
  void Prepare(const void* x, int rows, void* prepared) const override {
    const int k = shape().k;
    const auto* from = static_cast<const float*>(x);
    auto* to = static_cast<char*>(prepared);
    for (int row = 0; row < rows; ++row, from += k) {
      for (const OrderedColumns& columns : ordered_) {
        QuantizeGroups(from, columns.order, k, to);
        to += GroupedOperandBytes(k);
      }
    }
  }

  absl::Status MultiplyColumns(const void* x, int rows, int begin, int end,
                               void* y, MatmulWorkspace*) const override {
    const size_t bytes = GroupedOperandBytes(shape().k);
    const auto* of_columns = static_cast<const char*>(x);
    for (const OrderedColumns& columns : ordered_) {
      const int from = std::max(begin, columns.begin);
      const int to = std::min(end, columns.end);
      if (from < to) {
        weights_.Multiply(of_columns, ordered_.size() * bytes, rows, from, to,
                          static_cast<float*>(y));
      }
      of_columns += bytes;
    }
    return absl::OkStatus();
  }
  void ReadWeights(int column, float* w) const override {
    const auto found =
        std::find_if(ordered_.begin(), ordered_.end(),
                     [column](const auto& one) { return column < one.end; });
    if (found->order.empty()) return weights_.Get(column, w);
    std::vector<float> in_order(found->order.size());
    weights_.Get(column, in_order.data());
    for (size_t i = 0; i < in_order.size(); ++i) {
      w[found->order[i]] = in_order[i];
    }
  }

 private:
  const GroupedWeights weights_;
  std::vector<OrderedColumns> ordered_;  // of all columns
};

bool Multiplies(const MatmulShape& shape) {
  switch (shape.weights) {
    case WeightType::kF32:
      return shape.operands == OperandType::kF32;
    case WeightType::kBf16:
      return shape.operands == OperandType::kBf16;
    case WeightType::kInt8:
      return shape.operands == OperandType::kInt8;
    case WeightType::kGroups:
    case WeightType::kInt4:
      break;
  }
  return false;
}

}  // namespace

int SizeOf(WeightType type) {
  return type == WeightType::kF32 ? 4 : type == WeightType::kBf16 ? 2 : 1;
}
size_t RowBytes(OperandType type, int k) {
  const size_t count = static_cast<size_t>(k);
  switch (type) {
    case OperandType::kF32:
      return 4 * count;
    case OperandType::kBf16:
      return 2 * count;
    case OperandType::kInt8:
      return count;
    case OperandType::kInt8Groups:
      return GroupedOperandBytes(k);
    case OperandType::kOrderedGroups:
      break;
  }
  return 4 * count;
}

absl::Status PackedMatrix::Multiply(const void* x, int rows, void* y,
                                    MatmulWorkspace* workspace) const {
  if (const size_t bytes = prepared_row_bytes(); bytes > 0) {
    char* const prepared = workspace->scratchpad()->Reserve(rows * bytes);
    Prepare(x, rows, prepared);
    x = prepared;
  }
  return MultiplyColumns(x, rows, 0, shape_.n, y, workspace);
}

absl::StatusOr<std::unique_ptr<PackedMatrix>> PackedMatrix::Create(
    const MatmulShape& shape, RawBuffer packed) {
  const auto adopt = [&]<typename Matrix>(std::type_identity<Matrix>)
      -> absl::StatusOr<std::unique_ptr<PackedMatrix>> {
    if (packed.bytes() != Matrix::BytesOf(shape)) {
      return absl::InvalidArgumentError("packed weights have another size");
    }
    return std::make_unique<Matrix>(shape, std::move(packed));
  };
  if (TileMatrix::Serves(shape)) {
    return adopt(std::type_identity<TileMatrix>());
  }
  if (PanelMatrix::Serves(shape)) {
    return adopt(std::type_identity<PanelMatrix>());
  }
  return DnnlMatrix::Create(shape, std::move(packed));
}

std::unique_ptr<PackedMatrix> PackedMatrix::Create(
    GroupedWeights weights, OperandType operands,
    std::vector<OrderedColumns> ordered) {
  return std::make_unique<GroupedMatrix>(std::move(weights), operands,
                                         std::move(ordered));
}

absl::StatusOr<std::unique_ptr<PackedMatrix>> PackedMatrix::Create(
    const MatmulShape& shape, const void* weights) {
  if (!Multiplies(shape)) {
    return absl::InvalidArgumentError(
        "these weights cannot be multiplied with these operands");
  }
  if (TileMatrix::Serves(shape)) {
    return std::make_unique<TileMatrix>(shape, weights);
  }
  if (PanelMatrix::Serves(shape)) {
    return std::make_unique<PanelMatrix>(shape, weights);
  }
  return DnnlMatrix::Create(shape, weights);
}

}  // namespace trivium
