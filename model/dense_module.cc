#include "model/dense_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/status.h"
#include "model/sentence_modules.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

using nlohmann::json;

// Keeps the sizes of vectors within an int.
constexpr int64_t kMostDenseOutputs = 1 << 20;

// PyTorch's activation functions by their class names.
using ScalarFunction = double (*)(double);
constexpr std::pair<std::string_view, ScalarFunction> kActivations[] = {
    {"Identity", [](double x) { return x; }},
    {"Tanh", [](double x) { return std::tanh(x); }},
    {"ReLU", [](double x) { return std::max(x, 0.0); }},
    {"GELU", [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }},
    {"SiLU", [](double x) { return x / (1 + std::exp(-x)); }},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"Mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"ELU", [](double x) { return x > 0 ? x : std::expm1(x); }},
    {"CELU", [](double x) { return x > 0 ? x : std::expm1(x); }},
    {"SELU",
     [](double x) {
       return 1.0507009873554804934193349852946 *
              (x > 0 ? x : 1.6732632423543772848170429916717 * std::expm1(x));
     }},
    {"LeakyReLU", [](double x) { return x > 0 ? x : 0.01 * x; }},
    {"ReLU6", [](double x) { return std::clamp(x, 0.0, 6.0); }},
    {"Hardtanh", [](double x) { return std::clamp(x, -1.0, 1.0); }},
    {"Hardsigmoid", [](double x) { return std::clamp(x + 3, 0.0, 6.0) / 6; }},
    {"Hardswish", [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }},
    {"Softplus", [](double x) { return x > 20 ? x : std::log1p(std::exp(x)); }},
    {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }},
    {"LogSigmoid",
     [](double x) {
       return std::min(x, 0.0) - std::log1p(std::exp(-std::fabs(x)));
     }},
};

absl::StatusOr<ScalarFunction> FindFunction(const std::string& file,
                                            const json& config) {
  // sentence-transformers' default is Tanh.
  const json given = config.value("activation_function", json());
  const std::string type =
      given.is_string() ? given.get<std::string>() : "Tanh";
  const std::string name = type.substr(type.rfind('.') + 1);
  std::string names;
  for (const auto& [known, function] : kActivations) {
    if (name == known) return function;
    names += (names.empty() ? "" : ", ") + std::string(known);
  }
  return UnusableModules(file,
                         fmt::format("activation_function {} is not one of {}",
                                     name.substr(0, 64), names));
}

// Reads which vectors a module reads and writes.
absl::StatusOr<bool> OfTokens(const std::string& file, const json& config) {
  constexpr char kText[] = "sentence_embedding", kTokens[] = "token_embeddings";
  const json input = config.value("module_input_name", json(kText));
  const json output = config.value("module_output_name", input);
  for (const auto& [name, value] : {std::pair("module_input_name", &input),
                                    std::pair("module_output_name", &output)}) {
    if ((*value == kText || *value == kTokens) && *value == input) continue;
    return UnusableModules(
        file, fmt::format("{} is {}, and only \"{}\" and \"{}\", both times "
                          "the same, are served",
                          name, value->dump(-1, ' ', true), kText, kTokens));
  }
  return input == kTokens;
}

}  // namespace

absl::StatusOr<bool> ReadsTokens(const std::string& folder) {
  const std::string file = folder + "/config.json";
  const absl::StatusOr<json> config = ReadJsonFile(file);
  if (absl::IsNotFound(config.status())) return false;
  TRIVIUM_RETURN_IF_ERROR(config.status());
  return OfTokens(file, *config);
}

absl::StatusOr<DenseModule> DenseModule::Read(const std::string& folder,
                                              int in) {
  const std::string file = folder + "/config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json config, ReadJsonFile(file));
  DenseModule dense;
  TRIVIUM_ASSIGN_OR_RETURN(dense.activation, FindFunction(file, config));
  TRIVIUM_ASSIGN_OR_RETURN(dense.of_tokens, OfTokens(file, config));
  const bool adds_residual = config.value("use_residual", json()) == true;
  TRIVIUM_ASSIGN_OR_RETURN(dense.weights, Weights::Open(folder));
  dense.weight = dense.weights->Find("linear.weight");
  dense.bias = dense.weights->Find("linear.bias");
  if (dense.weight == nullptr || dense.weight->shape.size() != 2 ||
      dense.weight->shape[1] != in || dense.weight->shape[0] < 1 ||
      dense.weight->shape[0] > kMostDenseOutputs || !IsReal(*dense.weight) ||
      (dense.bias != nullptr &&
       (dense.bias->elements() != dense.weight->shape[0] ||
        !IsReal(*dense.bias)))) {
    return UnusableModules(folder,
                           fmt::format("its weights need linear.weight of "
                                       "shape [any, {}] and a bias to match",
                                       in));
  }
  dense.adds_input = adds_residual && dense.weight->shape[0] == in;
  if (adds_residual && !dense.adds_input) {
    dense.residual = dense.weights->Find("residual.weight");
    if (dense.residual == nullptr ||
        dense.residual->shape != dense.weight->shape ||
        !IsReal(*dense.residual)) {
      return UnusableModules(folder,
                             fmt::format("its weights need residual.weight of "
                                         "shape [{}, {}] for use_residual",
                                         dense.weight->shape[0], in));
    }
  }
  for (const TensorView* tensor : {dense.weight, dense.bias, dense.residual}) {
    if (tensor != nullptr && FirstNotFinite(*tensor).has_value()) {
      return UnusableModules(folder,
                             "some of its weights are infinite or not numbers");
    }
  }
  return dense;
}

}  // namespace trivium
