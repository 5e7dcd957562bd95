#ifndef TRIVIUM_MODEL_FAMILIES_DEEPSEEK_H_
#define TRIVIUM_MODEL_FAMILIES_DEEPSEEK_H_

#include "model/families/registry.h"

namespace trivium {

// Decoders with latent attention and experts in groups. Layers that predict
// further tokens (num_nextn_predict_layers) are not used.

// DeepSeek V2 (DeepSeek-AI 2024). Like Transformers'
// models/deepseek_v2/modeling_deepseek_v2.py.
FamilyModel LoadDeepSeekV2(const nlohmann::json& config, const Weights* weights,
                           Problems* problems);

// DeepSeek V3 and R1 (DeepSeek-AI 2024), Kimi K2. Like
// models/deepseek_v3/modeling_deepseek_v3.py.
FamilyModel LoadDeepSeekV3(const nlohmann::json& config, const Weights* weights,
                           Problems* problems);

// GLM 4.7 Flash. Like models/glm4_moe_lite/modeling_glm4_moe_lite.py.
FamilyModel LoadGlm4MoeLite(const nlohmann::json& config,
                            const Weights* weights, Problems* problems);

// Mistral Small 4. Like models/mistral4/modeling_mistral4.py.
FamilyModel LoadMistral4(const nlohmann::json& config, const Weights* weights,
                         Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_DEEPSEEK_H_
