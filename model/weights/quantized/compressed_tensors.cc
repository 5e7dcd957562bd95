// compressed-tensors, of vLLM's llm-compressor. config_groups say which numbers
// modules have. A module's own tensors tell which group is its own, so targets
// and the ignore list are not read (compressed_weight.h).
//
// Scales of activations and of keys and values are not used: activations are
// quantized as --precision says, each row by itself.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/weights/quantized/compressed_weight.h"
#include "model/weights/quantized/quantized_format.h"
#include "model/weights/quantized/scheme.h"

namespace trivium {
namespace {

class CompressedTensors : public QuantizedFormat {
 public:
  explicit CompressedTensors(std::vector<QuantizationScheme> schemes)
      : schemes_(std::move(schemes)) {}

  std::string Describe() const override {
    std::vector<std::string> texts;
    for (const QuantizationScheme& scheme : schemes_) {
      std::string text = scheme.Describe();
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) {
        texts.push_back(std::move(text));
      }
    }
    return fmt::format("compressed-tensors of {}", fmt::join(texts, " and "));
  }

  std::optional<std::string_view> ModuleOf(
      std::string_view name, const TensorView& tensor) const override {
    if (tensor.dtype == DType::kI8 || tensor.dtype == DType::kF8E4m3) {
      return WithoutSuffix(name, ".weight");
    }
    return WithoutSuffix(name, ".weight_packed");
  }

  std::optional<MadeTensor> Make(ModuleTensors* module) const override {
    return MakeCompressedWeight(schemes_, module);
  }

 private:
  const std::vector<QuantizationScheme> schemes_;
};

}  // namespace

std::unique_ptr<const QuantizedFormat> ReadCompressedTensorsConfig(
    ConfigReader* config) {
  const size_t problems = config->problems()->size();
  for (const char* key : {"sparsity_config", "transform_config"}) {
    const ConfigReader::Layer value = config->Find(key);
    if (value.json == nullptr || value.json->empty()) continue;
    if (value.json->is_object() &&
        value.json->value("format", nlohmann::json()) == "dense") {
      continue;
    }
    config->Report(key, value,
                   "this server reads neither sparse nor transformed weights; "
                   "use the model as it was before quantization");
  }
  const ConfigReader::Layer format = config->Find("format");
  constexpr std::string_view kFormats[] = {
      "pack-quantized",  "int-quantized",        "float-quantized",
      "naive-quantized", "mxfp8-quantized",      "nvfp4-pack-quantized",
      "mixed-precision", "mxfp4-pack-quantized", "dense"};
  if (format.json != nullptr &&
      std::find(std::begin(kFormats), std::end(kFormats), *format.json) ==
          std::end(kFormats)) {
    config->Report(
        "format", format,
        fmt::format("this server reads {}", fmt::join(kFormats, ", ")));
  }
  std::vector<QuantizationScheme> schemes = ReadSchemes(config);
  if (config->problems()->size() > problems) return nullptr;
  return std::make_unique<CompressedTensors>(std::move(schemes));
}

}  // namespace trivium
