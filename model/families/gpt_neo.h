#ifndef TRIVIUM_MODEL_FAMILIES_GPT_NEO_H_
#define TRIVIUM_MODEL_FAMILIES_GPT_NEO_H_

#include "model/families/registry.h"

namespace trivium {

// "gpt_neo": GPT-Neo (Black et al. 2021), as Hugging Face Transformers saves
// it. Its layers see everything or a band, alternately, which is also the
// layout of GPT-3 (Brown et al. 2020).
FamilyModel LoadGptNeo(const nlohmann::json& config, const Weights* weights,
                       Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GPT_NEO_H_
