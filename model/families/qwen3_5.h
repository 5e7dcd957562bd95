#ifndef TRIVIUM_MODEL_FAMILIES_QWEN3_5_H_
#define TRIVIUM_MODEL_FAMILIES_QWEN3_5_H_

#include "model/families/registry.h"

namespace trivium {

// Qwen 3 in which most layers have the gated delta rule instead of attention,
// and the others have gates of attention's output.

// Qwen3_5ForCausalLM (2026). Like Transformers'
// models/qwen3_5/modeling_qwen3_5.py.
FamilyModel LoadQwen35Text(const nlohmann::json& config, const Weights* weights,
                           Problems* problems);
// Qwen3_5MoeForCausalLM (2026): the same with experts, one of them for every
// token. Like models/qwen3_5_moe/modeling_qwen3_5_moe.py.
FamilyModel LoadQwen35MoeText(const nlohmann::json& config,
                              const Weights* weights, Problems* problems);
// Qwen3NextForCausalLM (2025): the same with experts, one of them for every
// token. Like models/qwen3_next/modeling_qwen3_next.py.
FamilyModel LoadQwen3Next(const nlohmann::json& config, const Weights* weights,
                          Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_QWEN3_5_H_
