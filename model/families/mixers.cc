#include "model/families/mixers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "model/families/joined_linear.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// A bound of rates: a number or, as Transformers 5 writes infinity,
// {"__float__": "Infinity"}.
std::optional<float> RateBound(const nlohmann::json& json) {
  if (json.is_number()) return json.get<float>();
  if (json == nlohmann::json::object({{"__float__", "Infinity"}})) {
    return std::numeric_limits<float>::infinity();
  }
  return std::nullopt;
}

}  // namespace

void ReadMamba2RateBounds(ConfigReader* config, Mamba2Config* sizes) {
  constexpr char kKey[] = "time_step_limit";
  sizes->most_rate = std::numeric_limits<float>::infinity();
  const ConfigReader::Layer limits = config->Find(kKey);
  if (limits.json == nullptr) return;
  if (limits.json->is_array() && limits.json->size() == 2) {
    const auto least = RateBound((*limits.json)[0]);
    const auto most = RateBound((*limits.json)[1]);
    if (least && most && *least >= 0 && *least <= *most) {
      sizes->least_rate = *least;
      sizes->most_rate = *most;
      return;
    }
  }
  config->Report(kKey, limits,
                 "give two numbers from 0 on, the smaller one first");
}

std::vector<bool> ReadAttendingLayers(
    ConfigReader* config, const std::vector<std::string_view>& mixer,
    const std::vector<std::string_view>& attention, std::vector<bool> usual) {
  constexpr char kKey[] = "layer_types";
  const ConfigReader::Layer types = config->Find(kKey);
  if (types.json == nullptr) return usual;
  const auto is_one = [](const nlohmann::json& type,
                         const std::vector<std::string_view>& names) {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return type == name; });
  };
  std::vector<bool> attends;
  bool known = types.json->is_array() && types.json->size() == usual.size();
  if (known) {
    for (const auto& type : *types.json) {
      attends.push_back(is_one(type, attention));
      known = known && (attends.back() || is_one(type, mixer));
    }
  }
  if (known) return attends;
  config->Report(kKey, types,
                 fmt::format("give \"{}\" or \"{}\" for each of {} layers",
                             attention[0], mixer[0], usual.size()));
  return usual;
}

int ReadMamba2Width(ConfigReader* config, int d_model) {
  constexpr char kKey[] = "mamba_expand";
  const int64_t width =
      int64_t{config->Integer(kKey, 1, 64).value_or(2)} * d_model;
  if (width <= kMaxWidth) return static_cast<int>(width);
  config->Report(kKey, config->Find(kKey),
                 fmt::format("times hidden_size, {}, it must be at most {}",
                             d_model, kMaxWidth));
  return d_model;
}

void ReadMamba2Norm(TensorReader* tensors, const std::string& name,
                    const Mamba2Config& sizes, bool after_gate,
                    MixerDescription* mixer) {
  mixer->norm = {
      .weight = tensors->Required(name + "norm.weight", {sizes.values}),
      .kind = NormTensors::Kind::kRms};
  mixer->norm_size = sizes.values / sizes.groups;
  mixer->norm_after_gate = after_gate;
}

Mamba2Config ReadMamba2Config(ConfigReader* config, int values, int usual_heads,
                              int usual_state) {
  Mamba2Config sizes;
  sizes.values = values;
  const auto integer = [&](const char* key, int usual) {
    return config->Integer(key, 1, kMaxWidth).value_or(usual);
  };
  constexpr char kHeads[] = "mamba_n_heads", kHead[] = "mamba_d_head";
  sizes.heads = integer(kHeads, usual_heads);
  sizes.groups = integer("mamba_n_groups", 1);
  sizes.key_size = integer("mamba_d_state", usual_state);
  sizes.value_size = values / sizes.heads;
  const ConfigReader::Layer head = config->Find(kHead);
  if (head.json != nullptr && *head.json != "auto") {
    sizes.value_size = integer(kHead, sizes.value_size);
  }
  if (int64_t{sizes.value_size} * sizes.heads != values) {
    config->Report(
        kHeads, config->Find(kHeads),
        fmt::format("times {}, {}, it must be {}, the width inside Mamba",
                    kHead, sizes.value_size, values));
  }
  if (sizes.heads % sizes.groups != 0) {
    config->Report("mamba_n_groups", config->Find("mamba_n_groups"),
                   fmt::format("it must divide {}, {}", kHeads, sizes.heads));
  }
  if (int64_t{sizes.groups} * sizes.key_size > kMaxWidth) {
    config->Report("mamba_d_state", config->Find("mamba_d_state"),
                   fmt::format("times mamba_n_groups, {}, it must be at most "
                               "{}",
                               sizes.groups, kMaxWidth));
  }
  sizes.width = config->Integer("mamba_d_conv", 2, MixerDescription::kMostWidth)
                    .value_or(4);
  sizes.convolution_bias = config->Boolean("mamba_conv_bias").value_or(true);
  sizes.projection_bias = config->Boolean("mamba_proj_bias").value_or(false);
  sizes.output_bias = sizes.projection_bias;
  ReadMamba2RateBounds(config, &sizes);
  return sizes;
}

Mamba2Config ReadOwnMamba2Config(ConfigReader* config, const Mamba2Keys& keys,
                                 const Mamba2Config& usual) {
  Mamba2Config sizes = usual;
  const auto integer = [&](const std::string& key, int* value) {
    *value = config->Integer(key, 1, kMaxWidth).value_or(*value);
  };
  integer(keys.heads, &sizes.heads);
  integer(keys.head, &sizes.value_size);
  integer(keys.groups, &sizes.groups);
  integer(keys.state, &sizes.key_size);
  const int64_t values = int64_t{sizes.heads} * sizes.value_size;
  if (values > kMaxWidth || sizes.heads % sizes.groups != 0 ||
      int64_t{sizes.groups} * sizes.key_size > kMaxWidth) {
    config->Report(
        keys.heads, config->Find(keys.heads),
        fmt::format("{}, {}, must divide it; times {}, {}, it must be at most "
                    "{}, and so must {} times {}",
                    keys.groups, sizes.groups, keys.head, sizes.value_size,
                    kMaxWidth, keys.groups, keys.state));
    return sizes;
  }
  sizes.values = static_cast<int>(values);
  sizes.width = config->Integer("conv_kernel", 2, MixerDescription::kMostWidth)
                    .value_or(usual.width);
  sizes.convolution_bias =
      config->Boolean("use_conv_bias").value_or(usual.convolution_bias);
  sizes.projection_bias = sizes.output_bias =
      config->Boolean("use_bias").value_or(usual.projection_bias);
  return sizes;
}

LinearTensors ScaledLinear(const LinearTensors& tensors, float weight,
                           float bias, TensorMemory* memory) {
  LinearTensors scaled = tensors;
  if (weight != 1 && scaled.weight != nullptr) {
    scaled.weight = Scaled(*scaled.weight, weight, memory);
  }
  if (bias != 1 && scaled.bias != nullptr) {
    scaled.bias = Scaled(*scaled.bias, bias, memory);
  }
  return scaled;
}

MixerDescription ReadMamba2(TensorReader* tensors, const std::string& name,
                            const Mamba2Config& sizes,
                            const Mamba2Factors& factors, int d_model,
                            TensorMemory* memory) {
  MixerDescription mixer;
  mixer.kind = MixerDescription::Kind::kStateSpace;
  const int keys = sizes.groups * sizes.key_size;
  const int channels = sizes.values + 2 * keys;
  const int64_t rows[] = {sizes.values, sizes.values, keys, keys, sizes.heads};
  std::vector<LinearTensors> parts =
      ReadJoinedLinear(tensors, name + "in_proj", rows, /*groups=*/1, d_model,
                       sizes.projection_bias, memory);
  for (size_t i = 0; i < parts.size(); ++i) {
    const float factor = factors.projection[i];
    parts[i] = ScaledLinear(parts[i], factor * factors.input, factor, memory);
  }
  mixer.gate = parts[0];
  mixer.channels = {parts[1], parts[2], parts[3]};
  mixer.rate = parts[4];
  mixer.output = ScaledLinear(tensors->Linear(name + "out_proj", d_model,
                                              sizes.values, sizes.output_bias),
                              factors.output, factors.output, memory);
  mixer.width = sizes.width;
  mixer.activation = sizes.activation;
  mixer.convolution =
      tensors->Required(name + "conv1d.weight", {channels, 1, sizes.width});
  if (sizes.convolution_bias) {
    mixer.convolution_bias =
        tensors->Required(name + "conv1d.bias", {channels});
  }
  mixer.heads = sizes.heads;
  mixer.key_heads = sizes.groups;
  mixer.key_size = sizes.key_size;
  mixer.value_size = sizes.value_size;
  mixer.decay = tensors->Required(name + "A_log", {sizes.heads});
  mixer.rate_bias = tensors->Required(name + "dt_bias", {sizes.heads});
  mixer.skip = tensors->Required(name + "D", {sizes.heads});
  mixer.least_rate = sizes.least_rate;
  mixer.most_rate = sizes.most_rate;
  return mixer;
}

}  // namespace trivium
