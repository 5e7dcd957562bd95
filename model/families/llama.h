#ifndef TRIVIUM_MODEL_FAMILIES_LLAMA_H_
#define TRIVIUM_MODEL_FAMILIES_LLAMA_H_

#include "model/families/registry.h"

namespace trivium {

// LlamaForCausalLM (LLaMA 1 to 3.x) and MistralForCausalLM, which has a window.
FamilyModel LoadLlama(const nlohmann::json& config, const Weights* weights,
                      Problems* problems);
FamilyModel LoadMistral(const nlohmann::json& config, const Weights* weights,
                        Problems* problems);
// MinistralForCausalLM: layers with and without the window.
FamilyModel LoadMinistral(const nlohmann::json& config, const Weights* weights,
                          Problems* problems);
// Ministral3ForCausalLM (Mistral AI 2025): its queries grow with the position.
FamilyModel LoadMinistral3(const nlohmann::json& config, const Weights* weights,
                           Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_LLAMA_H_
