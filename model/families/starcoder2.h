#ifndef TRIVIUM_MODEL_FAMILIES_STARCODER2_H_
#define TRIVIUM_MODEL_FAMILIES_STARCODER2_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads StarCoder 2 (Lozhkov et al. 2024): layer norms, biases, and a
// feed-forward without a gate.
FamilyModel LoadStarcoder2(const nlohmann::json& json, const Weights* weights,
                           Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_STARCODER2_H_
