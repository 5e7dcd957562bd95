#include "model/families/layer_rotaries.h"

#include <string>

#include "model/families/rotary_config.h"
#include "nlohmann/json.hpp"

namespace trivium {

std::vector<RotaryDescription> ReadLayerRotaries(ConfigReader* config,
                                                 const LayerRotaryKeys& keys,
                                                 int head_size,
                                                 int max_positions) {
  nlohmann::json sets[] = {nlohmann::json::object(), nlohmann::json::object()};
  constexpr const char* kNames[] = {"full_attention", "sliding_attention"};
  constexpr char kKey[] = "rope_parameters";
  const ConfigReader::Layer given = config->Find(kKey);
  if (given.json != nullptr) {
    bool known = given.json->is_object();
    if (known) {
      for (const auto& [name, set] : given.json->items()) {
        known = known &&
                (name == kNames[kFullLayer] || name == kNames[kSlidingLayer]) &&
                (set.is_object() || set.is_null());
        if (known && set.is_object()) sets[name == kNames[kSlidingLayer]] = set;
      }
    }
    if (!known) {
      config->Report(kKey, given,
                     "give objects full_attention and sliding_attention");
    }
  }
  if (const auto old = config->Find("rope_scaling"); old.json != nullptr) {
    if (old.json->is_object()) {
      sets[kFullLayer].update(*old.json);
      if (keys.scales_windows) sets[kSlidingLayer].update(*old.json);
    } else {
      config->Report("rope_scaling", old, "it must be an object");
    }
  }
  std::vector<RotaryDescription> rotaries;
  for (const LayerKind kind : {kFullLayer, kSlidingLayer}) {
    if (const auto old = config->Find(keys.thetas[kind]);
        old.json != nullptr && !sets[kind].contains("rope_theta")) {
      sets[kind]["rope_theta"] = *old.json;
    }
    rotaries.push_back(ReadRotarySet(sets[kind],
                                     std::string(kKey) + ", " + kNames[kind],
                                     {.head_size = head_size,
                                      .max_positions = max_positions,
                                      .theta = keys.usual_thetas[kind]},
                                     config->problems()));
  }
  return rotaries;
}

}  // namespace trivium
