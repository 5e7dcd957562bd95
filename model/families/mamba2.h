#ifndef TRIVIUM_MODEL_FAMILIES_MAMBA2_H_
#define TRIVIUM_MODEL_FAMILIES_MAMBA2_H_

#include "model/families/registry.h"

namespace trivium {

// Mamba2ForCausalLM (Dao and Gu 2024; Codestral Mamba): layers of Mamba 2 and
// nothing else. Like Transformers' models/mamba2/modeling_mamba2.py.
FamilyModel LoadMamba2(const nlohmann::json& config, const Weights* weights,
                       Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MAMBA2_H_
