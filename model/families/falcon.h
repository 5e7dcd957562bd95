#ifndef TRIVIUM_MODEL_FAMILIES_FALCON_H_
#define TRIVIUM_MODEL_FAMILIES_FALCON_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads Falcon (Almazrouei et al. 2023): of 7B and 40B, and Falcon-RW. They
// differ in the heads of keys, in their norms, and in positions.
FamilyModel LoadFalcon(const nlohmann::json& json, const Weights* weights,
                       Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_FALCON_H_
