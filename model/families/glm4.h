#ifndef TRIVIUM_MODEL_FAMILIES_GLM4_H_
#define TRIVIUM_MODEL_FAMILIES_GLM4_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads GLM-4 (Zeng et al. 2024) of 2024: LLaMA with half of each head turned.
FamilyModel LoadGlm(const nlohmann::json& json, const Weights* weights,
                    Problems* problems);

// Reads GLM-4 of 2025: norms before and after each sublayer,
// and half of each head turned.
FamilyModel LoadGlm4(const nlohmann::json& json, const Weights* weights,
                     Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GLM4_H_
