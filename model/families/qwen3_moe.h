#ifndef TRIVIUM_MODEL_FAMILIES_QWEN3_MOE_H_
#define TRIVIUM_MODEL_FAMILIES_QWEN3_MOE_H_

#include "model/families/registry.h"

namespace trivium {

// Qwen3MoeForCausalLM: Qwen 3, of whose layers all or some are mixtures of
// experts.
FamilyModel LoadQwen3Moe(const nlohmann::json& config, const Weights* weights,
                         Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_QWEN3_MOE_H_
