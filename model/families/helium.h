#ifndef TRIVIUM_MODEL_FAMILIES_HELIUM_H_
#define TRIVIUM_MODEL_FAMILIES_HELIUM_H_

#include "model/families/registry.h"

namespace trivium {

// HeliumForCausalLM (Kyutai 2025): LLaMA whose rotary positions turn adjacent
// dimensions.
FamilyModel LoadHelium(const nlohmann::json& config, const Weights* weights,
                       Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_HELIUM_H_
