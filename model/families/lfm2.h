#ifndef TRIVIUM_MODEL_FAMILIES_LFM2_H_
#define TRIVIUM_MODEL_FAMILIES_LFM2_H_

#include "model/families/registry.h"

namespace trivium {

// Lfm2ForCausalLM (Liquid AI 2025): LLaMA in which most layers have a short
// convolution instead of attention. Like Transformers'
// models/lfm2/modeling_lfm2.py.
FamilyModel LoadLfm2(const nlohmann::json& config, const Weights* weights,
                     Problems* problems);

// Lfm2MoeForCausalLM (LFM2-8B-A1B): LFM2 with experts in all layers but the
// first ones.
FamilyModel LoadLfm2Moe(const nlohmann::json& config, const Weights* weights,
                        Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_LFM2_H_
