#ifndef TRIVIUM_MODEL_FAMILIES_BAMBA_H_
#define TRIVIUM_MODEL_FAMILIES_BAMBA_H_

#include "model/families/registry.h"

namespace trivium {

// BambaForCausalLM (IBM 2024): LLaMA in which most layers have Mamba 2 instead
// of attention. Like Transformers' models/bamba/modeling_bamba.py.
FamilyModel LoadBamba(const nlohmann::json& config, const Weights* weights,
                      Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_BAMBA_H_
