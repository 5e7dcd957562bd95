#ifndef TRIVIUM_MODEL_FAMILIES_QWEN3_MOE_H_
#define TRIVIUM_MODEL_FAMILIES_QWEN3_MOE_H_

#include "model/families/registry.h"

namespace trivium {

// Qwen2MoeForCausalLM (Qwen1.5-MoE-A2.7B, Qwen2-57B-A14B): Qwen 2 with a shared
// expert beside its experts.
FamilyModel LoadQwen2Moe(const nlohmann::json& config, const Weights* weights,
                         Problems* problems);

// Qwen3MoeForCausalLM: Qwen 3 with mixtures of experts in all or some layers.
FamilyModel LoadQwen3Moe(const nlohmann::json& config, const Weights* weights,
                         Problems* problems);

// The text tower of Qwen3-VL's mixtures of experts, which reads texts as Qwen 3
// does. All experts of a layer are one tensor, whose matrices are transposed in
// published folders.
FamilyModel LoadQwen3VlMoeText(const nlohmann::json& config,
                               const Weights* weights, Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_QWEN3_MOE_H_
