#include "model/weights/quantized/compressed_weight.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "model/weights/quantized/fp4_rows.h"
#include "model/weights/quantized/numbers.h"
#include "model/weights/quantized/packed_ints.h"
#include "model/weights/quantized/scaled_rows.h"

namespace trivium {
namespace {

using Strategy = QuantizationScheme::Strategy;

constexpr char kPacked[] = ".weight_packed";
constexpr char kPlain[] = ".weight";
constexpr char kScale[] = ".weight_scale";
constexpr char kZero[] = ".weight_zero_point";
constexpr char kIndices[] = ".weight_g_idx";

// A weight's sizes, and what stores its numbers.
struct StoredWeight {
  const TensorView* numbers = nullptr;
  const char* suffix = kPacked;  // of `numbers`
  int64_t rows = 0;
  int64_t columns = 0;
};

// Returns weight_shape [2], which is i64 or i32; nullopt after a problem.
std::optional<std::pair<int64_t, int64_t>> ReadShape(ModuleTensors* module) {
  constexpr char kShape[] = ".weight_shape";
  const TensorView* const shape =
      module->Required(kShape, {DType::kI64, DType::kI32}, {2});
  if (shape == nullptr) return std::nullopt;
  const auto at = [shape](int i) {
    const size_t size = static_cast<size_t>(DTypeSize(shape->dtype));
    TensorView one = *shape;
    one.shape = {1};
    one.data = shape->data.subspan(i * size, size);
    return OneInteger(one).value_or(0);
  };
  const std::pair<int64_t, int64_t> sizes(at(0), at(1));
  if (sizes.first < 1 || sizes.second < 1 || sizes.second > INT64_MAX / 64) {
    module->Report(kShape,
                   fmt::format("says [{}, {}]", sizes.first, sizes.second));
    return std::nullopt;
  }
  return sizes;
}

std::optional<StoredWeight> FindWeight(ModuleTensors* module) {
  StoredWeight weight;
  weight.numbers = module->Find(kPacked);
  if (weight.numbers == nullptr) {
    weight.suffix = kPlain;
    weight.numbers = module->Required(kPlain, {DType::kI8, DType::kF8E4m3},
                                      {kAnySize, kAnySize});
    if (weight.numbers == nullptr) return std::nullopt;
    weight.rows = weight.numbers->shape[0];
    weight.columns = weight.numbers->shape[1];
    return weight;
  }
  weight.numbers = module->Required(kPacked, {DType::kI32, DType::kU8},
                                    {kAnySize, kAnySize});
  if (weight.numbers == nullptr) return std::nullopt;
  weight.rows = weight.numbers->shape[0];
  if (weight.numbers->dtype == DType::kU8) {
    weight.columns = 2 * weight.numbers->shape[1];
    return weight;
  }
  const auto shape = ReadShape(module);
  if (!shape) return std::nullopt;
  std::tie(weight.rows, weight.columns) = *shape;
  return weight;
}

// True if a module's weight and scales can be of this scheme.
bool Fits(const QuantizationScheme& scheme, const StoredWeight& weight,
          const TensorView* scales) {
  const DType type = weight.numbers->dtype;
  const bool real = type == DType::kF8E4m3 || type == DType::kU8;
  if (real != scheme.real) return false;
  if (real && (scheme.bits == 4) != (type == DType::kU8)) return false;
  if (type == DType::kI32 &&
      weight.numbers->shape[1] != WordsOf(weight.columns, scheme.bits)) {
    return false;
  }
  ScaleGrid grid;
  const std::vector<int64_t> shape =
      scheme.ScaleShape(weight.rows, weight.columns, &grid);
  return scales != nullptr && !shape.empty() && scales->shape == shape;
}

std::optional<MadeTensor> MakeFp4(const StoredWeight& weight,
                                  const ScaleGrid& grid,
                                  ModuleTensors* module) {
  constexpr char kGlobal[] = ".weight_global_scale";
  float whole = 1;
  if (grid.scales->dtype == DType::kF8E4m3) {
    const TensorView* const global =
        module->Required(kGlobal, {DType::kF32}, {1});
    if (global == nullptr) return std::nullopt;
    whole = NumberAt(*global, 0);
  } else if (grid.scales->dtype != DType::kU8) {
    module->Report(kScale, fmt::format("is {} where FP4 has f8_e4m3 or u8",
                                       DTypeName(grid.scales->dtype)));
    return std::nullopt;
  }
  if (grid.block_rows != 1 || weight.columns % grid.block_columns != 0) {
    module->Report(kScale, "is not one of whole groups, which FP4 has");
    return std::nullopt;
  }
  return PackedTensor(DType::kBf16, weight.rows, weight.columns,
                      std::make_unique<Fp4Rows>(*weight.numbers, *grid.scales,
                                                grid.block_columns, whole));
}

std::optional<MadeTensor> MakeInts(const QuantizationScheme& scheme,
                                   const StoredWeight& weight,
                                   const ScaleGrid& grid,
                                   ModuleTensors* module) {
  PackedInts ints{weight.numbers, scheme.bits, weight.columns, grid, {}};
  if (module->Required(kPacked, {DType::kI32},
                       {weight.rows, WordsOf(weight.columns, scheme.bits)}) ==
      nullptr) {
    return std::nullopt;
  }
  if (scheme.strategy == Strategy::kBlock) {
    module->Report(kPacked, "has blocks, which packed integers do not have");
    return std::nullopt;
  }
  if (!scheme.symmetric) {
    const TensorView* const zeros = module->Find(kZero);
    const bool packed = zeros != nullptr && zeros->dtype == DType::kI32 &&
                        scheme.strategy != Strategy::kTensor;
    ints.grid.zeros = module->Required(
        kZero, {packed ? DType::kI32 : DType::kI8},
        packed ? ModuleTensors::Shape{WordsOf(weight.rows, scheme.bits),
                                      grid.grid_columns}
               : grid.scales->shape);
    if (ints.grid.zeros == nullptr) return std::nullopt;
  }
  if (module->Find(kIndices) != nullptr) {
    const TensorView* const indices =
        module->Required(kIndices, {DType::kI32}, {weight.columns});
    if (indices == nullptr) return std::nullopt;
    for (int64_t i = 0; i < weight.columns; ++i) {
      const auto group = static_cast<int32_t>(WordAt(*indices, i));
      if (group == -1) {  // never set: columns are in order
        ints.groups.clear();
        break;
      }
      if (group < 0 || group >= grid.grid_columns) {
        module->Report(kIndices,
                       fmt::format("puts column {} into group {} of {}", i,
                                   group, grid.grid_columns));
        return std::nullopt;
      }
      ints.groups.push_back(group);
    }
    ForgetOrder(grid.block_columns, &ints.groups);
  }
  return PackedTensor(grid.scales->dtype, weight.rows, weight.columns,
                      std::make_unique<PackedIntRows>(std::move(ints)));
}

std::optional<MadeTensor> MakeAs(const QuantizationScheme& scheme,
                                 const StoredWeight& weight,
                                 ModuleTensors* module) {
  const DType type = weight.numbers->dtype;
  const bool real = type == DType::kF8E4m3 || type == DType::kU8;
  ScaleGrid grid;
  std::vector<int64_t> shape =
      scheme.ScaleShape(weight.rows, weight.columns, &grid);
  if (real != scheme.real ||
      (real && (scheme.bits == 4) != (type == DType::kU8)) || shape.empty()) {
    module->Report(weight.suffix,
                   fmt::format("is {} of [{}, {}], where config.json has {}",
                               DTypeName(type), weight.rows, weight.columns,
                               scheme.Describe()));
    return std::nullopt;
  }
  // Older folders have no second dimension.
  const TensorView* const found = module->Find(kScale);
  if (found != nullptr && found->elements() == shape[0] &&
      (scheme.strategy == Strategy::kChannel ||
       scheme.strategy == Strategy::kTensor)) {
    shape = found->shape;
  }
  grid.scales = module->Required(
      kScale,
      {DType::kBf16, DType::kF16, DType::kF32, DType::kF8E4m3, DType::kU8},
      shape);
  if (grid.scales == nullptr) return std::nullopt;
  const bool bytes =
      grid.scales->dtype == DType::kU8 || grid.scales->dtype == DType::kF8E4m3;
  if (type == DType::kU8) return MakeFp4(weight, grid, module);
  if (bytes && !(real && grid.scales->dtype == DType::kU8)) {
    module->Report(
        kScale, fmt::format("is {} where {} has real numbers",
                            DTypeName(grid.scales->dtype), scheme.Describe()));
    return std::nullopt;
  }
  if (type == DType::kI32) return MakeInts(scheme, weight, grid, module);
  if (scheme.strategy == Strategy::kGroup &&
      module->Find(kIndices) != nullptr) {
    module->Report(kIndices,
                   "orders the groups of a weight that is not packed, which "
                   "this server does not read",
                   "use the model as it was before quantization");
    return std::nullopt;
  }
  if (!scheme.symmetric) {
    grid.zeros = module->Required(kZero, {DType::kI8}, grid.scales->shape);
    if (grid.zeros == nullptr) return std::nullopt;
  }
  if (scheme.int8_activations && scheme.strategy == Strategy::kChannel &&
      scheme.symmetric && type == DType::kI8) {
    MadeTensor made{*weight.numbers, nullptr};
    made.view.row_scales = grid.scales;
    return made;
  }
  const DType rounded = bytes ? DType::kBf16 : grid.scales->dtype;
  return PackedTensor(
      rounded, weight.rows, weight.columns,
      std::make_unique<ScaledRows>(*weight.numbers, grid, rounded));
}

}  // namespace

std::optional<MadeTensor> MakeCompressedWeight(
    std::span<const QuantizationScheme> schemes, ModuleTensors* module) {
  const std::optional<StoredWeight> weight = FindWeight(module);
  if (!weight) return std::nullopt;
  const TensorView* const scales = module->Find(kScale);
  // Zero points tell apart schemes that fit alike.
  const bool zeros = module->Find(kZero) != nullptr;
  const auto find = [&](bool exactly) {
    return std::find_if(schemes.begin(), schemes.end(), [&](const auto& one) {
      return Fits(one, *weight, scales) &&
             (!exactly || one.symmetric == !zeros);
    });
  };
  auto fitting = find(/*exactly=*/true);
  if (fitting == schemes.end()) fitting = find(/*exactly=*/false);
  return MakeAs(fitting == schemes.end() ? schemes.front() : *fitting, *weight,
                module);
}

}  // namespace trivium
