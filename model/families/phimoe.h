#ifndef TRIVIUM_MODEL_FAMILIES_PHIMOE_H_
#define TRIVIUM_MODEL_FAMILIES_PHIMOE_H_

#include "model/families/registry.h"

namespace trivium {

// Phi-3.5-MoE (Abdin et al. 2024): Mixtral with layer norms, whose experts are
// weighed by a sparse mixer. Like Transformers' models/phimoe/
// modeling_phimoe.py, but for longrope, see rotary_config.h.
FamilyModel LoadPhiMoe(const nlohmann::json& config, const Weights* weights,
                       Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_PHIMOE_H_
