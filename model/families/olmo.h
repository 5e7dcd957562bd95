#ifndef TRIVIUM_MODEL_FAMILIES_OLMO_H_
#define TRIVIUM_MODEL_FAMILIES_OLMO_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads OLMo (Groeneveld et al. 2024): LLaMA with layer norms that have no
// factors.
FamilyModel LoadOlmo1(const nlohmann::json& json, const Weights* weights,
                      Problems* problems);

// Reads OLMo 2 (OLMo Team 2024): norms only of what each sublayer gives, and
// of all heads of queries and of keys together.
FamilyModel LoadOlmo2(const nlohmann::json& json, const Weights* weights,
                      Problems* problems);

// Reads OLMo 3 (Olmo Team 2025), which adds windows in three of four layers.
FamilyModel LoadOlmo3(const nlohmann::json& json, const Weights* weights,
                      Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_OLMO_H_
