#ifndef TRIVIUM_MODEL_FAMILIES_COHERE2_H_
#define TRIVIUM_MODEL_FAMILIES_COHERE2_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads Command R and R+, and Aya 23 and Expanse (Cohere 2024): attention and
// feed-forward side by side.
FamilyModel LoadCohere(const nlohmann::json& json, const Weights* weights,
                       Problems* problems);

// Reads Command R7B and Command A (Cohere 2024): Command R with rotary
// positions only in the layers with windows.
FamilyModel LoadCohere2(const nlohmann::json& json, const Weights* weights,
                        Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_COHERE2_H_
