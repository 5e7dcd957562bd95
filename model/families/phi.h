#ifndef TRIVIUM_MODEL_FAMILIES_PHI_H_
#define TRIVIUM_MODEL_FAMILIES_PHI_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads Phi-1, 1.5 and 2 (Gunasekar et al. 2023): attention and feed-forward
// side by side, biases everywhere, and part of each head turned.
FamilyModel LoadPhi(const nlohmann::json& json, const Weights* weights,
                    Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_PHI_H_
