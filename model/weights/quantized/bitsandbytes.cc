// bitsandbytes. Of 4 bits (QLoRA, Dettmers et al. 2023), for a weight of n
// elements in blocks of b, which are row-major and do not end with rows:
//
//   weight u8 [n / 2, 1], or as many bytes of another type: two codes in a
//     byte, the higher half first
//   weight.quant_map f32 [16], the numbers of the codes
//   weight.absmax f32 [n / b], or u8 with weight.nested_quant_map f32 [256] and
//     weight.nested_absmax f32 [n / b / b2]
//   weight.quant_state.bitsandbytes__nf4 (or fp4) u8, a JSON text: b as
//     blocksize, b2 as nested_blocksize, nested_offset, dtype, shape
//
//   absmax = nested_quant_map[code] nested_absmax + nested_offset
//   W = quant_map[code] absmax, rounded to dtype
//
// Of 8 bits (LLM.int8, Dettmers et al. 2022): weight i8 [out, in], SCB f32
// [out]; W = (code SCB) (1 / 127). Its products are made for activations of 16
// bits, so its bytes are not kept for int8 products: with --precision int8 they
// are rotated and quantized as other weights are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "model/weights/quantized/numbers.h"
#include "model/weights/quantized/quantized_format.h"

namespace trivium {
namespace {

constexpr char kWeight[] = ".weight";
constexpr char kState[] = ".weight.quant_state.bitsandbytes__";

// The JSON text beside a weight of 4 bits.
struct BitsAndBytesState {
  DType type = DType::kF32;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t block = 0;
  int64_t nested_block = 0;  // 0: absmax are real numbers
  float nested_offset = 0;
};

class FourBitRows : public PackedRows {
 public:
  FourBitRows(const TensorView& codes, const TensorView& numbers,
              const TensorView& absmax, const TensorView* nested_numbers,
              const TensorView* nested_absmax, const BitsAndBytesState& state)
      : PackedRows(state.columns),
        codes_(codes),
        absmax_(absmax),
        nested_absmax_(nested_absmax),
        state_(state) {
    for (int i = 0; i < 16; ++i) numbers_[i] = NumberAt(numbers, i);
    if (nested_numbers == nullptr) return;
    for (int i = 0; i < 256; ++i) {
      nested_numbers_[i] = NumberAt(*nested_numbers, i);
    }
  }

 private:
  void UnpackRows(int64_t first, int64_t count, float* out) const override {
    int64_t at = first * columns();
    const int64_t end = at + count * columns();
    while (at < end) {
      const int64_t block = at / state_.block;
      const float scale = ScaleOf(block);
      const int64_t block_end = std::min(end, (block + 1) * state_.block);
      for (; at < block_end; ++at, ++out) {
        const int code = ByteAt(codes_, at / 2) >> (at % 2 == 0 ? 4 : 0) & 15;
        *out = RoundTo(state_.type, numbers_[code] * scale);
      }
    }
  }

  float ScaleOf(int64_t block) const {
    if (nested_absmax_ == nullptr) return NumberAt(absmax_, block);
    const float nested = NumberAt(*nested_absmax_, block / state_.nested_block);
    return nested_numbers_[ByteAt(absmax_, block)] * nested +
           state_.nested_offset;
  }

  const TensorView& codes_;
  const TensorView& absmax_;
  const TensorView* const nested_absmax_;
  const BitsAndBytesState state_;
  std::array<float, 16> numbers_;
  std::array<float, 256> nested_numbers_ = {};
};

class EightBitRows : public PackedRows {
 public:
  EightBitRows(const TensorView& codes, const TensorView& scales)
      : PackedRows(codes.shape[1]), codes_(codes), scales_(scales) {}

 private:
  void UnpackRows(int64_t first, int64_t count, float* out) const override {
    constexpr float kPart = 7.874015718698502e-3f;
    for (int64_t row = first; row < first + count; ++row) {
      const float scale = NumberAt(scales_, row);
      for (int64_t i = row * columns(); i < (row + 1) * columns(); ++i) {
        const int code = static_cast<int8_t>(ByteAt(codes_, i));
        *out++ = static_cast<float>(code) * scale * kPart;
      }
    }
  }

  const TensorView& codes_;
  const TensorView& scales_;
};

// Reads the JSON text of `suffix`; nullopt after a problem.
std::optional<BitsAndBytesState> ReadState(const std::string& suffix,
                                           ModuleTensors* module) {
  constexpr JsonLimits kLimits = {size_t{1} << 16, size_t{1} << 18};
  const TensorView* const tensor =
      module->Required(suffix, {DType::kU8}, {kAnySize});
  if (tensor == nullptr) return std::nullopt;
  const absl::StatusOr<nlohmann::json> json = ParseJson(
      std::string_view(reinterpret_cast<const char*>(tensor->data.data()),
                       tensor->data.size()),
      kLimits);
  if (!json.ok() || !json->is_object()) {
    module->Report(suffix, "is not the JSON text of a state");
    return std::nullopt;
  }
  Problems problems;
  ConfigReader reader({{"", &*json}}, &problems);
  BitsAndBytesState state;
  const std::string type = reader.Text("dtype").value_or("");
  const std::vector<int> shape = reader.Integers("shape", 1, 1 << 30);
  state.block = reader.RequiredInteger("blocksize", 1, 1 << 30);
  state.nested_block =
      reader.Integer("nested_blocksize", 1, 1 << 30).value_or(0);
  state.nested_offset =
      static_cast<float>(reader.Real("nested_offset", -1e30, 1e30).value_or(0));
  state.type = type == "float16"    ? DType::kF16
               : type == "bfloat16" ? DType::kBf16
                                    : DType::kF32;
  if (!problems.empty() || shape.size() != 2 ||
      (state.type == DType::kF32 && type != "float32")) {
    module->Report(suffix,
                   "has no block size, no type of real numbers or no shape of "
                   "rows and columns");
    return std::nullopt;
  }
  state.rows = shape[0];
  state.columns = shape[1];
  return state;
}

class BitsAndBytes : public QuantizedFormat {
 public:
  explicit BitsAndBytes(std::string description)
      : description_(std::move(description)) {}

  std::string Describe() const override { return description_; }

  std::optional<std::string_view> ModuleOf(
      std::string_view name, const TensorView& tensor) const override {
    // A weight of 4 bits may be stored as any type, one of 8 bits is i8.
    for (const char* kind : {"nf4", "fp4"}) {
      if (auto module = WithoutSuffix(name, std::string(kState) + kind)) {
        return module;
      }
    }
    if (tensor.dtype == DType::kI8 || tensor.dtype == DType::kU8) {
      return WithoutSuffix(name, kWeight);
    }
    return std::nullopt;
  }

  std::optional<MadeTensor> Make(ModuleTensors* module) const override {
    const TensorView* const weight = module->Find(kWeight);
    if (weight != nullptr && weight->dtype == DType::kI8) {
      return MakeEightBits(module);
    }
    return MakeFourBits(weight, module);
  }

 private:
  static std::optional<MadeTensor> MakeEightBits(ModuleTensors* module) {
    const TensorView* const codes =
        module->Required(kWeight, {DType::kI8}, {kAnySize, kAnySize});
    if (codes == nullptr) return std::nullopt;
    const TensorView* const scales =
        module->Required(".SCB", {DType::kF32}, {codes->shape[0]});
    if (scales == nullptr) return std::nullopt;
    if (module->Find(".weight_format") != nullptr) {
      const TensorView* const layout =
          module->Required(".weight_format", {DType::kU8}, {});
      if (layout == nullptr) return std::nullopt;
      if (OneInteger(*layout) != 0) {
        module->Report(".weight_format",
                       "is not 0, which stands for whole rows",
                       "save the model with a bitsandbytes of 2024 or later");
        return std::nullopt;
      }
    }
    return PackedTensor(DType::kF32, codes->shape[0], codes->shape[1],
                        std::make_unique<EightBitRows>(*codes, *scales));
  }

  static std::optional<MadeTensor> MakeFourBits(const TensorView* weight,
                                                ModuleTensors* module);

  const std::string description_;
};

std::optional<MadeTensor> BitsAndBytes::MakeFourBits(const TensorView* weight,
                                                     ModuleTensors* module) {
  std::string suffix = std::string(kState) + "nf4";
  if (module->Find(suffix) == nullptr) {
    const std::string other = std::string(kState) + "fp4";
    if (module->Find(other) != nullptr) suffix = other;
  }
  const std::optional<BitsAndBytesState> state = ReadState(suffix, module);
  if (!state) return std::nullopt;
  const int64_t count = state->rows * state->columns;
  if (weight == nullptr || (weight->dtype != DType::kU8 && !IsReal(*weight)) ||
      static_cast<int64_t>(weight->data.size()) != (count + 1) / 2) {
    module->Report(kWeight,
                   fmt::format("does not have the {} bytes of [{}, "
                               "{}] in 4 bits",
                               (count + 1) / 2, state->rows, state->columns));
    return std::nullopt;
  }
  const int64_t blocks = (count - 1) / state->block + 1;
  const bool nested = state->nested_block > 0;
  const TensorView* const numbers =
      module->Required(".weight.quant_map", {DType::kF32}, {16});
  const TensorView* const absmax = module->Required(
      ".weight.absmax", {nested ? DType::kU8 : DType::kF32}, {blocks});
  if (numbers == nullptr || absmax == nullptr) return std::nullopt;
  const TensorView* nested_numbers = nullptr;
  const TensorView* nested_absmax = nullptr;
  if (nested) {
    nested_numbers =
        module->Required(".weight.nested_quant_map", {DType::kF32}, {256});
    nested_absmax = module->Required(".weight.nested_absmax", {DType::kF32},
                                     {(blocks - 1) / state->nested_block + 1});
    if (nested_numbers == nullptr || nested_absmax == nullptr) {
      return std::nullopt;
    }
  }
  return PackedTensor(
      state->type, state->rows, state->columns,
      std::make_unique<FourBitRows>(*weight, *numbers, *absmax, nested_numbers,
                                    nested_absmax, *state));
}

}  // namespace

std::unique_ptr<const QuantizedFormat> ReadBitsAndBytesConfig(
    ConfigReader* config) {
  const size_t problems = config->problems()->size();
  const bool eight = config->Boolean("load_in_8bit").value_or(false) ||
                     config->Boolean("_load_in_8bit").value_or(false);
  const std::string kind = config->Text("bnb_4bit_quant_type").value_or("fp4");
  if (!eight && kind != "nf4" && kind != "fp4") {
    config->Report("bnb_4bit_quant_type", config->Find("bnb_4bit_quant_type"),
                   "this server reads nf4 and fp4");
  }
  if (config->problems()->size() > problems) return nullptr;
  return std::make_unique<BitsAndBytes>(
      eight ? "8-bit bitsandbytes, a scale a row"
            : fmt::format("4-bit bitsandbytes ({})", kind));
}

}  // namespace trivium
