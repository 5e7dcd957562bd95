#ifndef TRIVIUM_MODEL_FAMILIES_GTE_H_
#define TRIVIUM_MODEL_FAMILIES_GTE_H_

#include "model/families/registry.h"

namespace trivium {

// GTE (mGTE, Zhang et al. 2024): BERT with rotary positions and a gated
// feed-forward, perhaps without segments. Its own code calls the family "new".
// Like Transformers' models/gte/modeling_gte.py.
FamilyModel LoadGte(const nlohmann::json& config, const Weights* weights,
                    Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GTE_H_
