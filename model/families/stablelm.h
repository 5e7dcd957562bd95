#ifndef TRIVIUM_MODEL_FAMILIES_STABLELM_H_
#define TRIVIUM_MODEL_FAMILIES_STABLELM_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads StableLM (Stability AI 2023): LLaMA with layer norms, and a quarter of
// each head turned.
FamilyModel LoadStableLm(const nlohmann::json& json, const Weights* weights,
                         Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_STABLELM_H_
