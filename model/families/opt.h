#ifndef TRIVIUM_MODEL_FAMILIES_OPT_H_
#define TRIVIUM_MODEL_FAMILIES_OPT_H_

#include "model/families/registry.h"

namespace trivium {

// "opt": OPT (Zhang et al. 2022), as Hugging Face Transformers saves it.
FamilyModel LoadOpt(const nlohmann::json& config, const Weights* weights,
                    Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_OPT_H_
