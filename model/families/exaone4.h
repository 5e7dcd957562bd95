#ifndef TRIVIUM_MODEL_FAMILIES_EXAONE4_H_
#define TRIVIUM_MODEL_FAMILIES_EXAONE4_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads EXAONE 4 (LG AI Research 2025): OLMo 2's norms, and in a model with
// windows rotary positions only in the layers that have them.
FamilyModel LoadExaone4(const nlohmann::json& json, const Weights* weights,
                        Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_EXAONE4_H_
