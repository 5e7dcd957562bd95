#include "model/weights/compressed_tensors.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/weights/tensor_file.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr char kKey[] = "config.json: quantization_config: ";
constexpr char kRemedy[] =
    "supported are compressed-tensors' int8 weights with one scale per output "
    "channel and activations quantized dynamically; use the model as it was "
    "before quantization";

// Returns the value of a key, or a JSON null.
const json& At(const json& object, const char* key) {
  static const json* const kNull = new json;
  if (!object.is_object()) return *kNull;
  const auto found = object.find(key);
  return found == object.end() ? *kNull : *found;
}

// Returns which part of the configuration is not W8A8, as "KEY is VALUE", or an
// empty string.
std::string Unknown(const json& config) {
  const auto differs = [](const std::string& path, const json& object,
                          const char* key, const json& only) -> std::string {
    const json& value = At(object, key);
    if (value == only) return "";
    return fmt::format(
        "{}{} is {}", path, key,
        value.is_null() ? "missing" : value.dump().substr(0, 100));
  };
  const auto has = [](const json& value) {
    return !value.is_null() && !value.empty();
  };
  std::string found;
  const auto note = [&found](std::string what) {
    if (found.empty()) found = std::move(what);
  };
  note(differs("", config, "format", "int-quantized"));
  for (const char* key :
       {"kv_cache_scheme", "sparsity_config", "transform_config"}) {
    if (has(At(config, key)) && At(At(config, key), "format") != "dense") {
      note(fmt::format("there is a {}", key));
    }
  }
  const json& groups = At(config, "config_groups");
  if (!groups.is_object() || groups.empty()) note("config_groups is missing");
  for (const auto& [name, group] : groups.items()) {
    for (const auto& [part, strategy] :
         {std::pair("weights", "channel"), {"input_activations", "token"}}) {
      const std::string path = fmt::format("{}.{}.", name.substr(0, 100), part);
      const json& numbers = At(group, part);
      note(differs(path, numbers, "num_bits", 8));
      note(differs(path, numbers, "type", "int"));
      note(differs(path, numbers, "symmetric", true));
      note(differs(path, numbers, "strategy", strategy));
      note(differs(path, numbers, "dynamic",
                   part == std::string_view("input_activations")));
    }
    if (has(At(group, "output_activations"))) {
      note(fmt::format("{} has output_activations", name.substr(0, 100)));
    }
  }
  return found;
}

// Weights that have row scales attached. The scales' own names are hidden.
class ScaledWeights : public Weights {
 public:
  ScaledWeights(std::unique_ptr<Weights> weights, Problems* problems);

  const TensorView* Find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<std::string_view> Names() const override {
    std::vector<std::string_view> names;
    names.reserve(tensors_.size());
    for (const auto& [name, tensor] : tensors_) names.push_back(name);
    return names;
  }
  std::string Fingerprint() const override { return weights_->Fingerprint(); }
  absl::Status CheckUnchanged() const override {
    return weights_->CheckUnchanged();
  }

 private:
  const std::unique_ptr<Weights> weights_;
  TensorMap tensors_;
};

ScaledWeights::ScaledWeights(std::unique_ptr<Weights> weights,
                             Problems* problems)
    : weights_(std::move(weights)) {
  constexpr std::string_view kScale = "_scale";
  for (const std::string_view name : weights_->Names()) {
    if (name.ends_with(kScale)) {
      const std::string_view of = name.substr(0, name.size() - kScale.size());
      if (weights_->Find(of) != nullptr) continue;
    }
    TensorView tensor = *weights_->Find(name);
    if (tensor.dtype == DType::kI8) {
      const TensorView* const scales =
          weights_->Find(fmt::format("{}{}", name, kScale));
      if (scales == nullptr || !IsReal(*scales) || tensor.shape.size() != 2 ||
          scales->elements() != tensor.shape[0]) {
        problems->push_back(fmt::format(
            "weights: tensor {} is i8, but {} does not have a real number for "
            "each of its rows; fetch a complete model",
            Quoted(name), Quoted(fmt::format("{}{}", name, kScale))));
        continue;
      }
      tensor.row_scales = scales;
    }
    tensors_.emplace(name, std::move(tensor));
  }
}

}  // namespace

std::unique_ptr<Weights> ApplyQuantizationConfig(
    const json& config, std::unique_ptr<Weights> weights, Problems* problems) {
  const json& quantization = At(config, "quantization_config");
  if (quantization.is_null()) return weights;
  const json& method = At(quantization, "quant_method");
  if (method == "mxfp4") return weights;
  const std::string unknown =
      method == "compressed-tensors"
          ? Unknown(quantization)
          : fmt::format(
                "quant_method is {}",
                method.is_null() ? "missing" : method.dump().substr(0, 100));
  if (!unknown.empty()) {
    problems->push_back(fmt::format("{}{}; {}", kKey, unknown, kRemedy));
    return weights;
  }
  if (weights == nullptr || weights->imagined()) return weights;
  return std::make_unique<ScaledWeights>(std::move(weights), problems);
}

}  // namespace trivium
