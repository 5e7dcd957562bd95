#ifndef TRIVIUM_MODEL_FAMILIES_GLM4_MOE_H_
#define TRIVIUM_MODEL_FAMILIES_GLM4_MOE_H_

#include "model/families/registry.h"

namespace trivium {

// GLM 4.5 to 4.7: LLaMA with rotary positions in a part of each head and with
// experts as DeepSeek V3 has them. Like Transformers'
// models/glm4_moe/modeling_glm4_moe.py. Layers that predict further tokens
// (num_nextn_predict_layers) are not used.
FamilyModel LoadGlm4Moe(const nlohmann::json& config, const Weights* weights,
                        Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GLM4_MOE_H_
