// modules.json names the modules, each with a folder of its own. Embed pools
// first, then applies the dense layers in their order, and normalizes last,
// wherever modules.json puts the normalization. Dense weights are kept as f32:
// these layers are small beside the model.
//
// An override of the pooling skips the dense layers, whose input it would
// change.
#include "model/sentence_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/status.h"
#include "model/kernels/row_ops.h"
#include "model/tokenizer/sentence_config.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

using nlohmann::json;

// In the order in which sentence-transformers concatenates them.
constexpr std::pair<const char*, TokenPooling> kPoolings[] = {
    {"cls", TokenPooling::kFirst},
    {"max", TokenPooling::kMax},
    {"mean", TokenPooling::kMean},
    {"mean_sqrt_len_tokens", TokenPooling::kMeanRoot},
    {"lasttoken", TokenPooling::kLast},
};

absl::Status Unusable(const std::string& file, const std::string& what) {
  return absl::InvalidArgumentError(fmt::format(
      "{}: {}; remove modules.json to use the model without its modules", file,
      what));
}

void Pool(std::span<const float> states, size_t width, TokenPooling pooling,
          std::vector<float>* out) {
  const size_t tokens = states.size() / width;
  std::vector<float> vector(states.begin(), states.begin() + width);
  switch (pooling) {
    case TokenPooling::kFirst:
      break;
    case TokenPooling::kLast:
      std::copy(states.end() - width, states.end(), vector.begin());
      break;
    case TokenPooling::kMax:
      for (size_t token = 1; token < tokens; ++token) {
        const float* state = &states[token * width];
        for (size_t i = 0; i < width; ++i) {
          vector[i] = std::max(vector[i], state[i]);
        }
      }
      break;
    case TokenPooling::kMean:
    case TokenPooling::kMeanRoot: {
      for (size_t token = 1; token < tokens; ++token) {
        AddRow({.f32 = &states[token * width], .n = static_cast<int>(width)},
               vector.data());
      }
      const float count = static_cast<float>(tokens);
      const float divisor =
          pooling == TokenPooling::kMean ? count : std::sqrt(count);
      for (float& value : vector) value /= divisor;
      break;
    }
  }
  out->insert(out->end(), vector.begin(), vector.end());
}

std::string LastPart(const std::string& type) {
  return type.substr(type.rfind('.') + 1);
}

}  // namespace

void NormalizeLength(std::vector<float>* vector) {
  double sum = 0;
  for (const float value : *vector) sum += double{value} * value;
  if (sum == 0) return;
  const double scale = 1 / std::sqrt(sum);
  for (float& value : *vector) value = static_cast<float>(value * scale);
}

absl::StatusOr<SentenceEncoder> SentenceEncoder::Load(const std::string& folder,
                                                      int d_model) {
  SentenceEncoder encoder;
  const std::string file = folder + "/modules.json";
  absl::StatusOr<json> modules = ReadJsonList(file);
  if (absl::IsNotFound(modules.status())) return encoder;
  TRIVIUM_RETURN_IF_ERROR(modules.status());
  encoder.normalize_ = false;
  TRIVIUM_ASSIGN_OR_RETURN(const SentenceConfig config,
                           SentenceConfig::Load(folder));
  encoder.max_tokens_ = config.max_tokens;
  constexpr size_t kMaxModules = 16;
  if (modules->size() > kMaxModules) {
    return Unusable(file, fmt::format("it has {} modules, and at most {} are "
                                      "served",
                                      modules->size(), kMaxModules));
  }
  for (const json& module : *modules) {
    const auto text = [&](const char* key) {
      const auto found = module.is_object() ? module.find(key) : module.end();
      return found != module.end() && found->is_string()
                 ? found->get<std::string>()
                 : std::string();
    };
    const std::string type = LastPart(text("type"));
    const std::string path = text("path");
    if (path.find("..") != path.npos || path.rfind('/', 0) == 0) {
      return Unusable(
          file, fmt::format("path {} leads out of the model's folder", path));
    }
    if (type == "Transformer" && &module == &modules->front()) continue;
    if (type == "Pooling") {
      TRIVIUM_RETURN_IF_ERROR(
          encoder.ReadPooling(folder + "/" + path, d_model));
    } else if (type == "Dense") {
      TRIVIUM_RETURN_IF_ERROR(encoder.ReadDense(
          folder + "/" + path, encoder.embedding_size(d_model)));
    } else if (type == "Normalize") {
      encoder.normalize_ = true;
    } else if (type == "LogitScore") {
      TRIVIUM_RETURN_IF_ERROR(encoder.ReadLogitScore(folder + "/" + path));
    } else {
      return Unusable(
          file, fmt::format("module {} at \"{}\" is not one of Transformer (the "
                            "first), Pooling, Dense, Normalize and LogitScore",
                            text("type"), path));
    }
  }
  TRIVIUM_RETURN_IF_ERROR(encoder.ReadSettings(folder));
  return encoder;
}

std::optional<SentenceEncoder> SentenceEncoder::OfPooling(
    std::string_view pooling) {
  for (const auto& [name, known] : kPoolings) {
    if (pooling != name) continue;
    SentenceEncoder encoder;
    encoder.poolings_ = {known};
    return encoder;
  }
  return std::nullopt;
}

absl::Status SentenceEncoder::ReadPooling(const std::string& folder,
                                          int d_model) {
  const std::string file = folder + "/config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json config, ReadJsonFile(file));
  const auto width = config.find("word_embedding_dimension");
  if (width != config.end() && *width != d_model) {
    return Unusable(file, fmt::format("word_embedding_dimension is {}, but the "
                                      "model's vectors have {}",
                                      width->dump(), d_model));
  }
  poolings_.clear();
  // One flag for each mode; later versions name the mode.
  const json mode = config.value("pooling_mode", json());
  for (const auto& [name, pooling] : kPoolings) {
    const std::string known = name;
    for (const std::string& key :
         {"pooling_mode_" + known, "pooling_mode_" + known + "_token",
          "pooling_mode_" + known + "_tokens"}) {
      if (config.value(key, json()) == true) poolings_.push_back(pooling);
    }
    if (mode == known) poolings_.push_back(pooling);
  }
  const bool others =
      config.value("pooling_mode_weightedmean_tokens", json()) == true ||
      config.value("include_prompt", json()) == false;
  if (poolings_.empty() || others) {
    return Unusable(file,
                    "it asks for pooling other than cls, max, mean, "
                    "mean_sqrt_len and lasttoken with the prompt");
  }
  return absl::OkStatus();
}

absl::Status SentenceEncoder::ReadDense(const std::string& folder, int in) {
  const std::string file = folder + "/config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json config, ReadJsonFile(file));
  Dense dense;
  const json activation = config.value("activation_function", json());
  if (activation.is_string()) {
    const std::string name = LastPart(activation.get<std::string>());
    dense.tanh = name == "Tanh";
    if (!dense.tanh && name != "Identity") {
      return Unusable(file, "activation_function is neither Tanh nor Identity");
    }
  } else {
    dense.tanh = true;  // sentence-transformers' default
  }
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<Weights> weights,
                           Weights::Open(folder));
  const TensorView* weight = weights->Find("linear.weight");
  const TensorView* bias = weights->Find("linear.bias");
  if (weight == nullptr || weight->shape.size() != 2 ||
      weight->shape[1] != in || weight->shape[0] < 1 || !IsReal(*weight) ||
      (bias != nullptr &&
       (bias->elements() != weight->shape[0] || !IsReal(*bias)))) {
    return Unusable(folder, fmt::format("its weights need linear.weight of "
                                        "shape [any, {}] and a bias to match",
                                        in));
  }
  for (const TensorView* tensor : {weight, bias}) {
    if (tensor != nullptr && FirstNotFinite(*tensor).has_value()) {
      return Unusable(folder,
                      "some of its weights are infinite or not numbers");
    }
  }
  dense.in = in;
  dense.out = static_cast<int>(weight->shape[0]);
  dense.weight.resize(weight->elements());
  CopyToF32(*weight, 0, dense.weight);
  if (bias != nullptr) {
    dense.bias.resize(dense.out);
    CopyToF32(*bias, 0, dense.bias);
  }
  TRIVIUM_RETURN_IF_ERROR(weights->CheckUnchanged());
  dense_.push_back(std::move(dense));
  return absl::OkStatus();
}

absl::Status SentenceEncoder::ReadLogitScore(const std::string& folder) {
  const std::string file = folder + "/config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json config, ReadJsonFile(file));
  const auto id = [&](const char* key) -> std::optional<int32_t> {
    const auto found = config.find(key);
    if (found == config.end() || !found->is_number_unsigned() ||
        *found > std::numeric_limits<int32_t>::max()) {
      return std::nullopt;
    }
    return found->get<int32_t>();
  };
  const std::optional<int32_t> true_id = id("true_token_id");
  const std::optional<int32_t> false_id = id("false_token_id");
  if (!true_id ||
      (!false_id && !config.value("false_token_id", json()).is_null())) {
    return Unusable(file, "true_token_id and false_token_id must be ids");
  }
  logit_score_ = {.true_id = *true_id, .false_id = false_id};
  return absl::OkStatus();
}

absl::Status SentenceEncoder::ReadSettings(const std::string& folder) {
  const std::string file = folder + "/config_sentence_transformers.json";
  const absl::StatusOr<json> config = ReadJsonFile(file);
  if (absl::IsNotFound(config.status())) return absl::OkStatus();
  TRIVIUM_RETURN_IF_ERROR(config.status());
  const json prompts = config->value("prompts", json::object());
  if (prompts.is_object()) {
    for (const auto& [name, prompt] : prompts.items()) {
      if (prompt.is_string()) prompts_[name] = prompt.get<std::string>();
    }
  }
  const json activation = config->value("activation_fn", json());
  if (logit_score_ && activation.is_string()) {
    const std::string function = LastPart(activation.get<std::string>());
    logit_score_->sigmoid = function == "Sigmoid";
    if (!logit_score_->sigmoid && function != "Identity") {
      return Unusable(file, "activation_fn is neither Sigmoid nor Identity");
    }
  }
  const json name = config->value("default_prompt_name", json());
  if (!name.is_string()) return absl::OkStatus();
  const auto found = prompts_.find(name.get<std::string>());
  if (found == prompts_.end()) {
    return Unusable(file, "default_prompt_name names none of the prompts");
  }
  default_prompt_ = found->second;
  return absl::OkStatus();
}

int SentenceEncoder::embedding_size(int d_model) const {
  return dense_.empty() ? d_model * static_cast<int>(poolings_.size())
                        : dense_.back().out;
}

States SentenceEncoder::Reads(const Overrides& overrides) const {
  if (!overrides.pooling && poolings_.size() > 1) return States::kAll;
  switch (overrides.pooling.value_or(poolings_.front())) {
    case TokenPooling::kFirst:
      return States::kFirst;
    case TokenPooling::kLast:
      return States::kLast;
    default:
      return States::kAll;
  }
}

std::vector<float> SentenceEncoder::Embed(std::span<const float> states,
                                          int d_model,
                                          const Overrides& overrides) const {
  std::vector<float> x;
  if (overrides.pooling) {
    Pool(states, d_model, *overrides.pooling, &x);
  } else {
    for (const TokenPooling pooling : poolings_) {
      Pool(states, d_model, pooling, &x);
    }
    for (const Dense& dense : dense_) {
      std::vector<float> y(dense.out);
      for (int o = 0; o < dense.out; ++o) {
        double sum = dense.bias.empty() ? 0 : dense.bias[o];
        const float* row = &dense.weight[static_cast<size_t>(o) * dense.in];
        for (int i = 0; i < dense.in; ++i) sum += double{row[i]} * x[i];
        y[o] = static_cast<float>(dense.tanh ? std::tanh(sum) : sum);
      }
      x = std::move(y);
    }
  }
  if (overrides.normalize.value_or(normalize_)) NormalizeLength(&x);
  return x;
}

}  // namespace trivium
