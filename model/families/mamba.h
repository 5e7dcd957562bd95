#ifndef TRIVIUM_MODEL_FAMILIES_MAMBA_H_
#define TRIVIUM_MODEL_FAMILIES_MAMBA_H_

#include "model/families/registry.h"

namespace trivium {

// Mamba ("Linear-Time Sequence Modeling with Selective State Spaces", Gu and
// Dao 2023): layers that have a selective scan alone. Like Transformers'
// models/mamba/modeling_mamba.py.
FamilyModel LoadMamba(const nlohmann::json& config, const Weights* weights,
                      Problems* problems);

// Falcon-Mamba (Zuo et al. 2024): Mamba whose keys, queries and narrow rates
// are divided by their root mean squares. Like
// models/falcon_mamba/modeling_falcon_mamba.py.
FamilyModel LoadFalconMamba(const nlohmann::json& config,
                            const Weights* weights, Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MAMBA_H_
