#ifndef TRIVIUM_MODEL_FAMILIES_LONGFORMER_H_
#define TRIVIUM_MODEL_FAMILIES_LONGFORMER_H_

#include "model/families/registry.h"

namespace trivium {

// Longformer (Beltagy et al. 2020): RoBERTa whose layers see windows. A
// classifier's first token, and a question's tokens, are global. Like
// models/longformer/modeling_longformer.py of Transformers, where nothing says
// which tokens are.
FamilyModel LoadLongformer(const nlohmann::json& config, const Weights* weights,
                           Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_LONGFORMER_H_
