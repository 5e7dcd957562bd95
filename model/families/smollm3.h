#ifndef TRIVIUM_MODEL_FAMILIES_SMOLLM3_H_
#define TRIVIUM_MODEL_FAMILIES_SMOLLM3_H_

#include "model/families/registry.h"

namespace trivium {

// SmolLM3ForCausalLM: LLaMA in which some layers have no rotary positions.
FamilyModel LoadSmolLm3(const nlohmann::json& config, const Weights* weights,
                        Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_SMOLLM3_H_
