#include "model/families/gemma3.h"

#include <cmath>
#include <string>
#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"
#include "model/families/rotary_config.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// Rotary positions of layers that see everything, and of layers with windows.
enum { kFull, kSliding };

// Reads them by kind of layer from rope_parameters, or in the older form:
// rope_theta with rope_scaling, and rope_local_base_freq.
std::vector<RotaryDescription> ReadRotaries(ConfigReader* config,
                                            const StackDescription& stack,
                                            int head_size) {
  nlohmann::json sets[] = {nlohmann::json::object(), nlohmann::json::object()};
  constexpr const char* kNames[] = {"full_attention", "sliding_attention"};
  constexpr char kKey[] = "rope_parameters";
  const ConfigReader::Layer given = config->Find(kKey);
  if (given.json != nullptr) {
    bool known = given.json->is_object();
    if (known) {
      for (const auto& [name, set] : given.json->items()) {
        known = known && (name == kNames[kFull] || name == kNames[kSliding]) &&
                (set.is_object() || set.is_null());
        if (known && set.is_object()) sets[name == kNames[kSliding]] = set;
      }
    }
    if (!known) {
      config->Report(kKey, given,
                     "give objects full_attention and sliding_attention");
    }
  }
  if (const auto old = config->Find("rope_scaling"); old.json != nullptr) {
    if (old.json->is_object()) {
      sets[kFull].update(*old.json);
    } else {
      config->Report("rope_scaling", old, "it must be an object");
    }
  }
  constexpr const char* kOldKeys[] = {"rope_theta", "rope_local_base_freq"};
  constexpr double kThetas[] = {1e6, 1e4};
  std::vector<RotaryDescription> rotaries;
  for (const int kind : {kFull, kSliding}) {
    if (const auto old = config->Find(kOldKeys[kind]);
        old.json != nullptr && !sets[kind].contains("rope_theta")) {
      sets[kind]["rope_theta"] = *old.json;
    }
    rotaries.push_back(ReadRotarySet(sets[kind],
                                     std::string(kKey) + ", " + kNames[kind],
                                     {.head_size = head_size,
                                      .max_positions = stack.max_positions,
                                      .theta = kThetas[kind]},
                                     config->problems()));
  }
  return rotaries;
}

void RefuseSoftCap(ConfigReader* config, const char* key) {
  if (const auto cap = config->Find(key); cap.json != nullptr) {
    config->Report(key, cap, "this server supports only null");
  }
}

}  // namespace

FamilyModel LoadGemma3Text(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  model.generation_defaults = {
      {"bos_token_id", 2}, {"eos_token_id", 1}, {"pad_token_id", 0}};
  TransformerDescription& description = model.description;
  constexpr char kBothWays[] = "use_bidirectional_attention";
  const bool both_ways = config->Boolean(kBothWays).value_or(false);
  AttentionGeometry geometry;
  StackDescription& stack =
      (both_ways ? description.encoder : description.decoder)
          .emplace(ReadLlamaConfig(config,
                                   {.activation = "hidden_activation",
                                    .usual_activation = Activation::kGeluTanh,
                                    .head_size = 256,
                                    .kv_heads = 4},
                                   &geometry));
  geometry.scale = static_cast<float>(
      1 / std::sqrt(config->Real("query_pre_attn_scalar", 1e-6, kMaxWidth)
                        .value_or(256)));
  stack.embedding_scale = std::sqrt(static_cast<float>(stack.d_model));
  stack.rotary = ReadRotaries(config, stack, geometry.head_size);
  const int window =
      config->Integer("sliding_window", 1, kMaxPositions).value_or(4096);
  const int pattern =
      config->Integer("sliding_window_pattern", 1, kMaxLayers).value_or(6);
  std::vector<bool> slides(stack.layers);
  for (int i = 0; i < stack.layers; ++i) slides[i] = (i + 1) % pattern != 0;
  slides = ReadLayerTypes(config, slides);
  std::vector<AttentionGeometry> geometries =
      SlidingGeometries(config, geometry, window, slides);
  for (int i = 0; i < stack.layers; ++i) {
    geometries[i].rotary = slides[i] ? kSliding : kFull;
    if (!both_ways) continue;
    // In both directions, the window extends half as far to either side.
    if (slides[i]) geometries[i].look_back = window / 2;
    geometries[i].look_ahead = slides[i] ? window / 2 : kAllKeys;
  }
  RefuseSoftCap(config, "attn_logit_softcapping");
  RefuseSoftCap(config, "final_logit_softcapping");
  LlamaTensors has = {
      .head_norms = true, .one_plus_weight = true, .norms_of_output = true};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  TensorReader* const tensors = family.OpenTensors("model.");
  if (tensors == nullptr) return model;

  ReadLlamaTensors(tensors, has, geometries, &stack);
  if (both_ways) return model;
  ReadOutputProjection(config, /*tied_by_default=*/true, tensors, &description);
  return model;
}

}  // namespace trivium
