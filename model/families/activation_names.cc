#include "model/families/activation_names.h"

#include <string>
#include <utility>

namespace trivium {
namespace {

constexpr std::pair<std::string_view, Activation> kActivations[] = {
    {"relu", Activation::kRelu},
    {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_accurate", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_python_tanh", Activation::kGeluTanh},
    {"silu", Activation::kSwish},
    {"swish", Activation::kSwish},
    {"tanh", Activation::kTanh},
    {"relu2", Activation::kSquaredRelu},
};

}  // namespace

std::optional<Activation> FindActivation(std::string_view name) {
  for (const auto& [known, activation] : kActivations) {
    if (known == name) return activation;
  }
  return std::nullopt;
}

Activation ReadActivation(ConfigReader* config, std::string_view key,
                          Activation fallback) {
  const ConfigReader::Layer value = config->Find(key);
  if (value.json == nullptr) return fallback;
  std::string known;
  for (const auto& [name, activation] : kActivations) {
    if (*value.json == name) return activation;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  config->Report(key, value, "give one of " + known);
  return fallback;
}

}  // namespace trivium
