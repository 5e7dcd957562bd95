#ifndef TRIVIUM_MODEL_FAMILIES_QWEN_H_
#define TRIVIUM_MODEL_FAMILIES_QWEN_H_

#include "model/families/registry.h"

namespace trivium {

// Qwen2ForCausalLM (Qwen 1.5 to 2.5): LLaMA with biases of queries, keys and
// values, and with windows in its later layers if they are switched on.
FamilyModel LoadQwen2(const nlohmann::json& config, const Weights* weights,
                      Problems* problems);
// Qwen3ForCausalLM: norms of queries and keys instead of the biases.
FamilyModel LoadQwen3(const nlohmann::json& config, const Weights* weights,
                      Problems* problems);
// The text tower of Qwen2-VL and Qwen2.5-VL, which reads texts as Qwen 2 does.
FamilyModel LoadQwen2VlText(const nlohmann::json& config,
                            const Weights* weights, Problems* problems);
// The text tower of Qwen3-VL, which reads texts as Qwen 3 does.
FamilyModel LoadQwen3VlText(const nlohmann::json& config,
                            const Weights* weights, Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_QWEN_H_
