// HQQ (Badri and Shaji 2023) as its HQQLinear.state_dict() and Transformers
// save it. The elements of a weight [out, in], row-major, are a matrix that has
// a row (axis 1) or a column (axis 0) for each group:
//
//   axis 1: [out in / g, g], scale and zero [out in / g, 1]
//   axis 0: [g, out in / g], scale and zero [1, out in / g]
//
// Its rows are cut into as many equal parts as fit a byte, or ten in an i32 for
// 3 bits: W_q [rows of a part, columns] has the first part in its highest bits.
// As in Quantizer.dequantize:
//
//   W = (code - zero) scale, both rounded to the type of scale
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "model/weights/quantized/numbers.h"
#include "model/weights/quantized/quantized_format.h"

namespace trivium {
namespace {

struct HqqTensors {
  const TensorView* codes = nullptr;
  const TensorView* scales = nullptr;
  const TensorView* zeros = nullptr;
  int bits = 0;                   // of a code's place in a word
  int parts = 1;                  // codes in a word
  int64_t rows = 0, columns = 0;  // of the weight
  int64_t width = 0;              // columns of the matrix of groups
  bool groups_are_rows = true;
};

class HqqRows : public PackedRows {
 public:
  explicit HqqRows(const HqqTensors& tensors)
      : PackedRows(tensors.columns), tensors_(tensors) {}

 private:
  void UnpackRows(int64_t first, int64_t count, float* out) const override {
    int64_t at = first * columns();
    const int64_t end = at + count * columns();
    while (at < end) {
      const int64_t row = at / tensors_.width, column = at % tensors_.width;
      const int64_t size = std::min(tensors_.width - column, end - at);
      UnpackPart(row, column, size, out);
      at += size;
      out += size;
    }
  }

  // Unpacks `size` elements of a row of the matrix of groups.
  void UnpackPart(int64_t row, int64_t column, int64_t size, float* out) const {
    const DType type = tensors_.scales->dtype;
    const int64_t part_rows = tensors_.codes->shape[0];
    const int64_t words = row % part_rows * tensors_.width;
    const int shift = tensors_.bits *
                      (tensors_.parts - 1 - static_cast<int>(row / part_rows));
    const uint32_t mask = (1u << tensors_.bits) - 1;
    float scale = 0, zero = 0;
    for (int64_t i = 0; i < size; ++i) {
      if (i == 0 || !tensors_.groups_are_rows) {
        const int64_t group = tensors_.groups_are_rows ? row : column + i;
        scale = NumberAt(*tensors_.scales, group);
        zero = NumberAt(*tensors_.zeros, group);
      }
      const int64_t word = words + column + i;
      const uint32_t codes = tensors_.codes->dtype == DType::kI32
                                 ? WordAt(*tensors_.codes, word)
                                 : ByteAt(*tensors_.codes, word);
      const auto code = static_cast<float>(codes >> shift & mask);
      out[i] = RoundTo(type, RoundTo(type, code - zero) * scale);
    }
  }

  const HqqTensors tensors_;
};

class HqqFormat : public QuantizedFormat {
 public:
  explicit HqqFormat(std::string description)
      : description_(std::move(description)) {}

  std::string Describe() const override { return description_; }

  std::optional<std::string_view> ModuleOf(std::string_view name,
                                           const TensorView&) const override {
    return WithoutSuffix(name, ".W_q");
  }

  std::optional<MadeTensor> Make(ModuleTensors* module) const override;

 private:
  const std::string description_;
};

// Returns an integer of the module from `least` to `most`; nullopt after a
// problem.
std::optional<int64_t> HqqInteger(const char* suffix, int64_t least,
                                  int64_t most, ModuleTensors* module) {
  const TensorView* const tensor = module->Find(suffix);
  if (tensor == nullptr) {
    module->Report(suffix, "is missing");
    return std::nullopt;
  }
  const std::optional<int64_t> value = OneInteger(*tensor);
  if (!value || *value < least || *value > most) {
    module->Report(suffix,
                   fmt::format("is not an integer from {} to {}", least, most));
    return std::nullopt;
  }
  return value;
}

std::optional<MadeTensor> HqqFormat::Make(ModuleTensors* module) const {
  constexpr int64_t kMost = int64_t{1} << 30;
  const auto bits = HqqInteger(".nbits", 1, 8, module);
  const auto axis = HqqInteger(".axis", 0, 1, module);
  const auto size = HqqInteger(".group_size", 1, kMost, module);
  const TensorView* const shape =
      module->Required(".shape", {DType::kI64}, {2});
  if (!bits || !axis || !size || shape == nullptr) return std::nullopt;
  for (const char* suffix : {".view_as_float", ".quant_scale", ".quant_zero"}) {
    const TensorView* const flag = module->Find(suffix);
    if (flag != nullptr && OneInteger(*flag) != 0) {
      module->Report(suffix, "is not false",
                     "save the model with codes as integers and scales as real "
                     "numbers");
      return std::nullopt;
    }
  }
  HqqTensors tensors;
  const auto shape_at = [shape](size_t i) {
    int64_t value;
    std::memcpy(&value, shape->data.data() + i * sizeof(value), sizeof(value));
    return value;
  };
  tensors.rows = shape_at(0);
  tensors.columns = shape_at(1);
  if (tensors.rows < 1 || tensors.rows > kMost || tensors.columns < 1 ||
      tensors.columns > kMost || tensors.rows * tensors.columns % *size != 0) {
    module->Report(".shape", fmt::format("says [{}, {}], which are not whole "
                                         "groups of {}",
                                         tensors.rows, tensors.columns, *size));
    return std::nullopt;
  }
  const int64_t groups = tensors.rows * tensors.columns / *size;
  tensors.groups_are_rows = *axis == 1;
  const int64_t height = tensors.groups_are_rows ? groups : *size;
  tensors.width = tensors.groups_are_rows ? *size : groups;
  // 5 and 6 bits take a byte.
  tensors.bits = *bits > 4 ? 8 : static_cast<int>(*bits);
  tensors.parts = tensors.bits == 3 ? 10 : 8 / tensors.bits;
  if (tensors.bits != 3 && height % tensors.parts != 0) {
    module->Report(".W_q", fmt::format("packs {} rows, which are not {} equal "
                                       "parts",
                                       height, tensors.parts));
    return std::nullopt;
  }
  tensors.codes =
      module->Required(".W_q", {tensors.bits == 3 ? DType::kI32 : DType::kU8},
                       {(height - 1) / tensors.parts + 1, tensors.width});
  const ModuleTensors::Shape grid = tensors.groups_are_rows
                                        ? ModuleTensors::Shape{groups, 1}
                                        : ModuleTensors::Shape{1, groups};
  tensors.scales = module->Required(".scale", kRealTypes, grid);
  tensors.zeros = module->Required(".zero", kRealTypes, grid);
  if (tensors.codes == nullptr || tensors.scales == nullptr ||
      tensors.zeros == nullptr) {
    return std::nullopt;
  }
  return PackedTensor(tensors.scales->dtype, tensors.rows, tensors.columns,
                      std::make_unique<HqqRows>(tensors));
}

}  // namespace

std::unique_ptr<const QuantizedFormat> ReadHqqConfig(ConfigReader*) {
  return std::make_unique<HqqFormat>("HQQ");
}

}  // namespace trivium
