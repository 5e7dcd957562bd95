#ifndef TRIVIUM_MODEL_FAMILIES_GEMMA2_H_
#define TRIVIUM_MODEL_FAMILIES_GEMMA2_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads Gemma 2 (Gemma Team 2024): norms before and after each sublayer, every
// other layer with a window, and soft caps of scores and logits.
FamilyModel LoadGemma2(const nlohmann::json& json, const Weights* weights,
                       Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GEMMA2_H_
