#ifndef TRIVIUM_MODEL_FAMILIES_OPENAI_GPT_H_
#define TRIVIUM_MODEL_FAMILIES_OPENAI_GPT_H_

#include "model/families/registry.h"

namespace trivium {

// "openai-gpt": GPT (Radford et al. 2018), as Hugging Face Transformers saves
// it: GPT-2's tensors, but norms after each sublayer and none at the end.
FamilyModel LoadOpenAiGpt(const nlohmann::json& config, const Weights* weights,
                          Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_OPENAI_GPT_H_
