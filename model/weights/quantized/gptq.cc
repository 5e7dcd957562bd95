// GPTQ (Frantar et al. 2022) as AutoGPTQ and GPTQModel store it, for a weight
// [out, in] of b bits:
//
//   qweight [in b / 32, out] i32, qzeros [groups, out b / 32] i32,
//   scales [groups, out] f16, g_idx [in] i32, the group of each input
//
// Codes fill the words of a column from the lowest bits on, as one string of
// bits; zeros those of a row. As in TorchLinear of GPTQModel:
//
//   W[o, i] = scales[g, o] (code - zero), rounded to the type of scales
//
// "gptq" stores zero - 1, of b bits, and "gptq_v2" stores zero.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "model/weights/quantized/numbers.h"
#include "model/weights/quantized/quantized_format.h"

namespace trivium {
namespace {

struct GptqTensors {
  const TensorView* codes = nullptr;
  const TensorView* zeros = nullptr;
  const TensorView* scales = nullptr;
  int64_t in = 0;
  int64_t group_size = 0;
  // The group of each input; empty: inputs are in the order of their groups.
  std::vector<int32_t> groups;
};

class GptqRows : public PackedRows {
 public:
  GptqRows(GptqTensors tensors, int bits, int zero_offset)
      : PackedRows(tensors.in,
                   FormOfCodes(bits, tensors.groups, tensors.group_size,
                               tensors.in, *tensors.scales)),
        tensors_(std::move(tensors)),
        bits_(bits),
        zero_offset_(zero_offset) {}

  void ReadGroups(int64_t first, std::span<GroupedRow> rows) const override {
    const int64_t out = tensors_.scales->shape[1];
    for (GroupedRow& to : rows) {
      ClearGroups(GroupForm::kZero4, columns(), &to);
      const auto codes =
          std::span(to.numbers).first(static_cast<size_t>(columns()));
      ReadCodes(*tensors_.codes, first, out, bits_, codes);
      PutInOrder(order(), codes);
      for (int64_t group = 0; group < tensors_.scales->shape[0]; ++group) {
        AddGroups(tensors_.group_size,
                  NumberAt(*tensors_.scales, group * out + first),
                  ZeroAt(first, group), &to);
      }
      ++first;
    }
  }

 private:
  int ZeroAt(int64_t row, int64_t group) const {
    const uint32_t zero =
        BitsAt(*tensors_.zeros, group * tensors_.zeros->shape[1], 1,
               row * bits_, bits_) +
        static_cast<uint32_t>(zero_offset_);
    return static_cast<int>(zero & ((1u << bits_) - 1));
  }

  void UnpackRows(int64_t first, int64_t count, float* out) const override {
    const int64_t groups = tensors_.scales->shape[0];
    const int64_t rows = tensors_.scales->shape[1];
    CodeValues values(tensors_.scales->dtype, bits_, groups, columns());
    std::vector<uint8_t> codes(static_cast<size_t>(columns()));
    for (int64_t row = first; row < first + count; ++row, out += columns()) {
      for (int64_t group = 0; group < groups; ++group) {
        values.SetGroup(group, NumberAt(*tensors_.scales, group * rows + row),
                        ZeroAt(row, group));
      }
      ReadCodes(*tensors_.codes, row, rows, bits_, codes);
      values.GetRow(tensors_.groups, tensors_.group_size, codes, out);
    }
  }

  const GptqTensors tensors_;
  const int bits_;
  const int zero_offset_;
};

class GptqFormat : public QuantizedFormat {
 public:
  GptqFormat(int bits, int group_size, bool zeros_minus_one)
      : bits_(bits),
        group_size_(group_size),
        zero_offset_(zeros_minus_one ? 1 : 0) {}

  std::string Describe() const override {
    return group_size_ > 0
               ? fmt::format("{}-bit GPTQ, groups of {}", bits_, group_size_)
               : fmt::format("{}-bit GPTQ, one group a row", bits_);
  }

  std::optional<std::string_view> ModuleOf(std::string_view name,
                                           const TensorView&) const override {
    return WithoutSuffix(name, ".qweight");
  }

  std::optional<MadeTensor> Make(ModuleTensors* module) const override {
    GptqTensors tensors;
    tensors.codes =
        module->Required(".qweight", {DType::kI32}, {kAnySize, kAnySize});
    if (tensors.codes == nullptr) return std::nullopt;
    const int64_t words = tensors.codes->shape[0];
    const int64_t out = tensors.codes->shape[1];
    int64_t in = words * 32 / bits_;
    const TensorView* indices = nullptr;
    if (module->Find(".g_idx") != nullptr) {
      indices = module->Required(".g_idx", {DType::kI32}, {kAnySize});
      if (indices == nullptr) return std::nullopt;
      in = indices->shape[0];
    }
    const int64_t size = group_size_ > 0 ? group_size_ : in;
    const int64_t groups = (in + size - 1) / size;
    if (WordsOf(in, bits_) != words) {
      module->Report(".qweight",
                     fmt::format("has {} words a column, which are not {} "
                                 "inputs of {} bits",
                                 words, in, bits_));
      return std::nullopt;
    }
    tensors.zeros = module->Required(".qzeros", {DType::kI32},
                                     {groups, WordsOf(out, bits_)});
    tensors.scales = module->Required(".scales", kRealTypes, {groups, out});
    if (tensors.zeros == nullptr || tensors.scales == nullptr) {
      return std::nullopt;
    }
    tensors.in = in;
    tensors.group_size = size;
    for (int64_t i = 0; indices != nullptr && i < in; ++i) {
      const auto group = static_cast<int32_t>(WordAt(*indices, i));
      if (group < 0 || group >= groups) {
        module->Report(".g_idx", fmt::format("puts input {} into group {} of "
                                             "{}",
                                             i, group, groups));
        return std::nullopt;
      }
      tensors.groups.push_back(group);
    }
    ForgetOrder(size, &tensors.groups);
    const DType type = tensors.scales->dtype;
    return PackedTensor(
        type, out, in,
        std::make_unique<GptqRows>(std::move(tensors), bits_, zero_offset_));
  }

 private:
  const int bits_;
  const int group_size_;  // -1: one group
  const int zero_offset_;
};

// Reports settings that change the layout.
void RefuseOtherGptq(ConfigReader* config) {
  constexpr char kMend[] = "this server reads the formats gptq and gptq_v2";
  for (const char* key : {"checkpoint_format", "format"}) {
    const ConfigReader::Layer value = config->Find(key);
    if (value.json != nullptr && *value.json != "gptq" &&
        *value.json != "gptq_v2") {
      config->Report(key, value, kMend);
    }
  }
  const ConfigReader::Layer marlin = config->Find("is_marlin_format");
  if (marlin.json != nullptr && *marlin.json != false) {
    config->Report("is_marlin_format", marlin, kMend);
  }
  const ConfigReader::Layer words = config->Find("pack_dtype");
  if (words.json != nullptr && *words.json != "int32") {
    config->Report("pack_dtype", words, "this server reads int32");
  }
  // Overrides for some modules; "-:" excludes modules, which stay plain.
  const ConfigReader::Layer overrides = config->Find("dynamic");
  if (overrides.json == nullptr || overrides.json->empty()) return;
  bool excludes = overrides.json->is_object();
  for (const auto& [key, value] : overrides.json->items()) {
    excludes = excludes && key.starts_with("-:");
  }
  if (!excludes) {
    config->Report("dynamic", overrides,
                   "this server reads models whose quantized modules share "
                   "their settings");
  }
}

}  // namespace

std::unique_ptr<const QuantizedFormat> ReadGptqConfig(ConfigReader* config) {
  const size_t problems = config->problems()->size();
  RefuseOtherGptq(config);
  const int bits = config->RequiredInteger("bits", 2, 8);
  if (config->problems()->size() == problems && bits > 4 && bits < 8) {
    config->Report("bits", config->Find("bits"),
                   "this server reads 2, 3, 4 and 8");
  }
  const int group_size =
      config->Integer("group_size", -1, 1 << 20).value_or(128);
  if (group_size == 0) {
    config->Report("group_size", config->Find("group_size"),
                   "it must be -1 or above 0");
  }
  if (config->problems()->size() > problems) return nullptr;
  bool minus_one = true;
  for (const char* key : {"checkpoint_format", "format"}) {
    const ConfigReader::Layer value = config->Find(key);
    if (value.json == nullptr) continue;
    minus_one = *value.json == "gptq";
    break;
  }
  return std::make_unique<GptqFormat>(bits, group_size, minus_one);
}

}  // namespace trivium
