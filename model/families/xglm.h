#ifndef TRIVIUM_MODEL_FAMILIES_XGLM_H_
#define TRIVIUM_MODEL_FAMILIES_XGLM_H_

#include "model/families/registry.h"

namespace trivium {

// Decoders of fairseq with a norm before each sublayer, whose layers have
// BART's names.

// XGLMForCausalLM (Lin et al. 2021): positions are sines and cosines.
FamilyModel LoadXglm(const nlohmann::json& config, const Weights* weights,
                     Problems* problems);

// BioGptForCausalLM (Luo et al. 2022): positions are learned.
FamilyModel LoadBioGpt(const nlohmann::json& config, const Weights* weights,
                       Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_XGLM_H_
