#ifndef TRIVIUM_MODEL_FAMILIES_EXAONE_H_
#define TRIVIUM_MODEL_FAMILIES_EXAONE_H_

#include "model/families/registry.h"

namespace trivium {

// ExaoneForCausalLM (EXAONE 3.0 and 3.5, EXAONE Deep): LLaMA with other names
// of its tensors and some of its keys.
FamilyModel LoadExaone(const nlohmann::json& config, const Weights* weights,
                       Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_EXAONE_H_
