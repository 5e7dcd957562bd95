#ifndef TRIVIUM_MODEL_FAMILIES_FALCON_H1_H_
#define TRIVIUM_MODEL_FAMILIES_FALCON_H1_H_

#include "model/families/registry.h"

namespace trivium {

// FalconH1ForCausalLM (TII 2025): LLaMA in which each layer has Mamba 2 beside
// attention, with factors everywhere. Like Transformers'
// models/falcon_h1/modeling_falcon_h1.py.
FamilyModel LoadFalconH1(const nlohmann::json& config, const Weights* weights,
                         Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_FALCON_H1_H_
