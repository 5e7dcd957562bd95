#ifndef TRIVIUM_MODEL_FAMILIES_ERNIE4_5_H_
#define TRIVIUM_MODEL_FAMILIES_ERNIE4_5_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads the dense ERNIE 4.5 (Baidu 2025): LLaMA whose rotary positions turn
// adjacent dimensions.
FamilyModel LoadErnie45(const nlohmann::json& json, const Weights* weights,
                        Problems* problems);

// Reads ERNIE 4.5's mixtures of experts (21B-A3B, 300B-A47B): ERNIE 4.5 with
// experts and shared ones. Layers that predict further tokens are left out.
FamilyModel LoadErnie45Moe(const nlohmann::json& json, const Weights* weights,
                           Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_ERNIE4_5_H_
