#ifndef TRIVIUM_MODEL_FAMILIES_GPT_NEOX_H_
#define TRIVIUM_MODEL_FAMILIES_GPT_NEOX_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads GPT-NeoX and Pythia (Black et al. 2022, Biderman et al. 2023):
// attention and feed-forward side by side, and a quarter of each head turned.
FamilyModel LoadGptNeoX(const nlohmann::json& json, const Weights* weights,
                        Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GPT_NEOX_H_
