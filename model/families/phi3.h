#ifndef TRIVIUM_MODEL_FAMILIES_PHI3_H_
#define TRIVIUM_MODEL_FAMILIES_PHI3_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads Phi-3, 3.5 and 4 (Abdin et al. 2024): LLaMA's layers with joined
// tensors.
FamilyModel LoadPhi3(const nlohmann::json& json, const Weights* weights,
                     Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_PHI3_H_
