#ifndef TRIVIUM_MODEL_FAMILIES_GRANITE_HYBRID_H_
#define TRIVIUM_MODEL_FAMILIES_GRANITE_HYBRID_H_

#include "model/families/registry.h"

namespace trivium {

// GraniteMoeHybridForCausalLM (Granite 4, IBM 2025): Granite in which most
// layers have Mamba 2 instead of attention, with or without experts beside the
// feed-forward. Like Transformers'
// models/granitemoehybrid/modeling_granitemoehybrid.py.
FamilyModel LoadGraniteMoeHybrid(const nlohmann::json& config,
                                 const Weights* weights, Problems* problems);

// GraniteMoeForCausalLM and GraniteMoeSharedForCausalLM (Granite 3's mixtures
// of experts, IBM 2024): the second has a feed-forward of every token beside
// the experts.
FamilyModel LoadGraniteMoe(const nlohmann::json& config, const Weights* weights,
                           Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GRANITE_HYBRID_H_
