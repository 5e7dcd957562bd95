#include "model/weights/quantized/quantized_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/weights/imagined_weights.h"
#include "model/weights/quantized/quantized_format.h"
#include "model/weights/tensor_file.h"

namespace trivium {
namespace {

using nlohmann::json;

// The names of quant_method, and how their settings are read. Null: the family
// does it.
struct QuantMethod {
  std::string_view name;
  QuantizedFormatReader read;
};
constexpr QuantMethod kMethods[] = {
    {"auto-round", ReadAutoRoundConfig},
    {"awq", ReadAwqConfig},
    {"bitsandbytes", ReadBitsAndBytesConfig},
    {"compressed-tensors", ReadCompressedTensorsConfig},
    {"fbgemm_fp8", ReadFp8Config},
    {"fp8", ReadFp8Config},
    {"gptq", ReadGptqConfig},
    {"hqq", ReadHqqConfig},
    {"mxfp4", nullptr},
};

class QuantizedWeights : public MapWeights {
 public:
  QuantizedWeights(std::unique_ptr<Weights> stored,
                   std::unique_ptr<const QuantizedFormat> format,
                   Problems* problems);

  std::string Fingerprint() const override { return stored_->Fingerprint(); }
  std::string Origin() const override { return stored_->Origin(); }
  void ReadAhead() const override { stored_->ReadAhead(); }
  std::string Quantization() const override { return format_->Describe(); }
  bool imagined() const override { return stored_->imagined(); }
  const TensorView* Imagine(std::string_view name,
                            const std::vector<int64_t>& shape) const override {
    return stored_->Imagine(name, shape);
  }
  absl::Status CheckUnchanged() const override {
    return stored_->CheckUnchanged();
  }

 private:
  const std::unique_ptr<Weights> stored_;
  const std::unique_ptr<const QuantizedFormat> format_;
  std::vector<std::unique_ptr<const PackedRows>> rows_;  // of tensors_
};

QuantizedWeights::QuantizedWeights(
    std::unique_ptr<Weights> stored,
    std::unique_ptr<const QuantizedFormat> format, Problems* problems)
    : stored_(std::move(stored)), format_(std::move(format)) {
  // A broken model has the same problem in all of its modules.
  constexpr size_t kMostProblems = 10;
  const std::vector<std::string_view> names = stored_->Names();
  std::set<std::string, std::less<>> modules, taken;
  for (const std::string_view name : names) {
    const auto module = format_->ModuleOf(name, *stored_->Find(name));
    if (module) modules.emplace(*module);
  }
  Problems found;
  for (const std::string& name : modules) {
    ModuleTensors module(*stored_, name, &found);
    std::optional<MadeTensor> made = format_->Make(&module);
    taken.insert(module.taken().begin(), module.taken().end());
    if (!made) continue;
    rows_.push_back(std::move(made->rows));
    tensors_.emplace(name + ".weight", std::move(made->view));
  }
  for (const std::string_view name : names) {
    if (taken.count(name) == 0) tensors_.emplace(name, *stored_->Find(name));
  }
  const size_t shown = std::min(found.size(), kMostProblems);
  problems->insert(problems->end(), found.begin(), found.begin() + shown);
  if (shown < found.size()) {
    problems->push_back(fmt::format(
        "weights: {} more problems of quantized tensors are not shown; mend "
        "those above first",
        found.size() - shown));
  }
}

// Reports the method and returns null if it is not one that is read.
const QuantMethod* FindMethod(ConfigReader* config) {
  constexpr char kKey[] = "quant_method";
  const ConfigReader::Layer method = config->Find(kKey);
  std::vector<std::string_view> names;
  for (const QuantMethod& known : kMethods) {
    if (method.json != nullptr && *method.json == known.name) return &known;
    names.push_back(known.name);
  }
  config->Report(kKey, method,
                 fmt::format("this server reads {}; use one of these, a GGUF "
                             "file of the model, or the model as it was before "
                             "quantization",
                             fmt::join(names, ", ")));
  return nullptr;
}

}  // namespace

std::unique_ptr<Weights> ApplyQuantizationConfig(
    const json& config, std::unique_ptr<Weights> weights, Problems* problems) {
  if (!config.is_object()) return weights;
  // Folders of 2024 have compressed-tensors' settings under another name.
  const ConfigReader whole({{"config.json", &config}}, problems);
  const char* const key = whole.Find("quantization_config").json != nullptr
                              ? "quantization_config"
                              : "compression_config";
  const ConfigReader::Layer settings = whole.Find(key);
  if (settings.json == nullptr) return weights;
  const json empty = json::object();
  ConfigReader reader({{fmt::format("config.json: {}", key),
                        settings.json->is_object() ? settings.json : &empty}},
                      problems);
  const QuantMethod* const method = FindMethod(&reader);
  if (method != nullptr && method->read == nullptr) return weights;
  std::unique_ptr<const QuantizedFormat> format =
      method == nullptr ? nullptr : method->read(&reader);
  if (weights == nullptr) return nullptr;
  // Without what cannot be read, its tensors would seem to be missing, too.
  if (format == nullptr) return ImagineWeights();
  const size_t known = problems->size();
  auto made = std::make_unique<QuantizedWeights>(std::move(weights),
                                                 std::move(format), problems);
  if (problems->size() > known) return ImagineWeights();
  return made;
}

}  // namespace trivium
