#ifndef TRIVIUM_MODEL_FAMILIES_GPT2_H_
#define TRIVIUM_MODEL_FAMILIES_GPT2_H_

#include "model/families/registry.h"

namespace trivium {

// "gpt2": GPT-2 (Radford et al. 2019), as Hugging Face Transformers saves it.
FamilyModel LoadGpt2(const nlohmann::json& config, const Weights* weights,
                     Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GPT2_H_
