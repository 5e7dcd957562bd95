#ifndef TRIVIUM_MODEL_FAMILIES_DOTS1_H_
#define TRIVIUM_MODEL_FAMILIES_DOTS1_H_

#include "model/families/registry.h"

namespace trivium {

// Dots1ForCausalLM (dots.llm1): Qwen 3's attention and DeepSeek V3's experts.
FamilyModel LoadDots1(const nlohmann::json& config, const Weights* weights,
                      Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_DOTS1_H_
