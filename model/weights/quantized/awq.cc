// AWQ (Lin et al. 2023) as AutoAWQ's "gemm" stores it, for a weight [out, in]
// in groups of g inputs:
//
//   qweight [in, out / 8] i32, qzeros [in / g, out / 8] i32,
//   scales [in / g, out] f16
//
// A word holds the codes of eight outputs 8 w .. 8 w + 7 of one input, four
// bits each, from the lowest bits on in the order 0, 2, 4, 6, 1, 3, 5, 7. As in
// dequantize_gemm of AutoAWQ's packing_utils.py:
//
//   W[o, i] = (code - zero) scale, rounded to the type of scale
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "model/weights/quantized/numbers.h"
#include "model/weights/quantized/quantized_format.h"

namespace trivium {
namespace {

constexpr int kAwqBits = 4;
constexpr int64_t kAwqLanes = 8;  // outputs in a word
// The shift of each output's bits in a word.
constexpr int kAwqShift[kAwqLanes] = {0, 16, 4, 20, 8, 24, 12, 28};

class AwqRows : public PackedRows {
 public:
  AwqRows(const TensorView& codes, const TensorView& zeros,
          const TensorView& scales)
      : PackedRows(codes.shape[0],
                   FormOfCodes(kAwqBits, {}, codes.shape[0] / scales.shape[0],
                               codes.shape[0], scales)),
        codes_(codes),
        zeros_(zeros),
        scales_(scales) {}

  // Rows of one word are read together, as in UnpackRows.
  void ReadGroups(int64_t first, std::span<GroupedRow> rows) const override {
    while (!rows.empty()) {
      const int64_t lane = first % kAwqLanes;
      const size_t lanes =
          std::min(static_cast<size_t>(kAwqLanes - lane), rows.size());
      ReadLanes(first / kAwqLanes, lane, rows.first(lanes));
      first += static_cast<int64_t>(lanes);
      rows = rows.subspan(lanes);
    }
  }

 private:
  void ReadLanes(int64_t word, int64_t lane, std::span<GroupedRow> rows) const {
    const int64_t words = codes_.shape[1], groups = scales_.shape[0];
    for (GroupedRow& row : rows) {
      ClearGroups(GroupForm::kZero4, columns(), &row);
    }
    for (int64_t group = 0; group < groups; ++group) {
      const uint32_t zeros = WordAt(zeros_, group * words + word);
      for (size_t i = 0; i < rows.size(); ++i) {
        const int64_t at = lane + static_cast<int64_t>(i);
        AddGroups(columns() / groups,
                  NumberAt(scales_, (group * words + word) * kAwqLanes + at),
                  static_cast<int>(zeros >> kAwqShift[at] & 15), &rows[i]);
      }
    }
    for (int64_t column = 0; column < columns(); ++column) {
      const uint32_t codes = WordAt(codes_, column * words + word);
      for (size_t i = 0; i < rows.size(); ++i) {
        rows[i].numbers[static_cast<size_t>(column)] =
            static_cast<uint8_t>(codes >> kAwqShift[lane + i] & 15);
      }
    }
  }

  // Rows of one word are unpacked together, because the words of a row lie far
  // apart.
  void UnpackRows(int64_t first, int64_t count, float* out) const override {
    const int64_t end = first + count;
    while (first < end) {
      const int64_t lane = first % kAwqLanes;
      const int64_t lanes = std::min(kAwqLanes - lane, end - first);
      UnpackLanes(first / kAwqLanes, lane, lanes, out);
      first += lanes;
      out += lanes * columns();
    }
  }

  void UnpackLanes(int64_t word, int64_t lane, int64_t lanes,
                   float* out) const {
    const int64_t words = codes_.shape[1], groups = scales_.shape[0];
    const int64_t size = columns() / groups;
    CodeValues values(scales_.dtype, kAwqBits, kAwqLanes, kAwqLanes * size);
    for (int64_t group = 0; group < groups; ++group) {
      const uint32_t zeros = WordAt(zeros_, group * words + word);
      for (int64_t i = lane; i < lane + lanes; ++i) {
        values.SetGroup(
            i, NumberAt(scales_, (group * words + word) * kAwqLanes + i),
            static_cast<int>(zeros >> kAwqShift[i] & 15));
      }
      for (int64_t column = group * size; column < (group + 1) * size;
           ++column) {
        const uint32_t codes = WordAt(codes_, column * words + word);
        for (int64_t i = 0; i < lanes; ++i) {
          out[i * columns() + column] =
              values.Get(lane + i, codes >> kAwqShift[lane + i] & 15);
        }
      }
    }
  }

  const TensorView& codes_;
  const TensorView& zeros_;
  const TensorView& scales_;
};

class AwqFormat : public QuantizedFormat {
 public:
  explicit AwqFormat(int group_size) : group_size_(group_size) {}

  std::string Describe() const override {
    return group_size_ > 0 ? fmt::format("4-bit AWQ, groups of {}", group_size_)
                           : "4-bit AWQ, one group a row";
  }

  std::optional<std::string_view> ModuleOf(
      std::string_view name, const TensorView& tensor) const override {
    // A scale of activations, which some architectures have beside a module.
    constexpr std::string_view kActivation = ".act.scales";
    if (name.ends_with(kActivation)) return name;
    return WithoutSuffix(name, ".qweight");
  }

  std::optional<MadeTensor> Make(ModuleTensors* module) const override {
    if (module->name().ends_with(".act.scales")) {
      module->Report("",
                     "scales the activations of an AWQ model, which this "
                     "server does not do",
                     "use the model as it was before quantization");
      return std::nullopt;
    }
    const TensorView* const codes =
        module->Required(".qweight", {DType::kI32}, {kAnySize, kAnySize});
    if (codes == nullptr) return std::nullopt;
    const int64_t in = codes->shape[0], words = codes->shape[1];
    const int64_t size = group_size_ > 0 ? group_size_ : in;
    if (in % size != 0) {
      module->Report(".qweight",
                     fmt::format("has {} inputs, which are not whole groups "
                                 "of {}",
                                 in, size));
      return std::nullopt;
    }
    const TensorView* const zeros =
        module->Required(".qzeros", {DType::kI32}, {in / size, words});
    const TensorView* const scales =
        module->Required(".scales", kRealTypes, {in / size, words * kAwqLanes});
    if (zeros == nullptr || scales == nullptr) return std::nullopt;
    return PackedTensor(scales->dtype, words * kAwqLanes, in,
                        std::make_unique<AwqRows>(*codes, *zeros, *scales));
  }

 private:
  const int group_size_;  // -1: one group
};

}  // namespace

std::unique_ptr<const QuantizedFormat> ReadAwqConfig(ConfigReader* config) {
  const size_t problems = config->problems()->size();
  for (const char* key : {"version", "format"}) {
    const ConfigReader::Layer value = config->Find(key);
    if (value.json != nullptr && *value.json != "gemm" &&
        *value.json != "GEMM") {
      config->Report(key, value,
                     "this server reads AWQ's gemm layout; save the model with "
                     "version gemm");
    }
  }
  for (const char* key : {"bits", "w_bit"}) {
    const ConfigReader::Layer value = config->Find(key);
    if (value.json != nullptr && *value.json != kAwqBits) {
      config->Report(key, value, "AWQ's gemm layout has 4");
    }
  }
  const char* const key = config->Find("q_group_size").json != nullptr
                              ? "q_group_size"
                              : "group_size";
  const int group_size = config->Integer(key, -1, 1 << 20).value_or(128);
  if (group_size == 0) {
    config->Report(key, config->Find(key), "it must be -1 or above 0");
  }
  if (config->problems()->size() > problems) return nullptr;
  return std::make_unique<AwqFormat>(group_size);
}

}  // namespace trivium
