#ifndef TRIVIUM_MODEL_FAMILIES_NEMOTRON_H_H_
#define TRIVIUM_MODEL_FAMILIES_NEMOTRON_H_H_

#include "model/families/registry.h"

namespace trivium {

// NemotronHForCausalLM (NVIDIA 2025): Mamba 2, attention without positions,
// feed-forwards and experts, each in a block of its own. Here a block of Mamba
// or attention and the feed-forward after it, if one follows, are one layer.
// Like Transformers' models/nemotron_h/modeling_nemotron_h.py.
FamilyModel LoadNemotronH(const nlohmann::json& config, const Weights* weights,
                          Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_NEMOTRON_H_H_
