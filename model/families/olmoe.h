#ifndef TRIVIUM_MODEL_FAMILIES_OLMOE_H_
#define TRIVIUM_MODEL_FAMILIES_OLMOE_H_

#include "model/families/registry.h"

namespace trivium {

// OlmoeForCausalLM (Muennighoff et al. 2024): LLaMA with norms of all queries
// and of all keys, and experts.
FamilyModel LoadOlmoe(const nlohmann::json& config, const Weights* weights,
                      Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_OLMOE_H_
