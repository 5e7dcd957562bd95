#ifndef TRIVIUM_MODEL_FAMILIES_XLM_H_
#define TRIVIUM_MODEL_FAMILIES_XLM_H_

#include "model/families/registry.h"

namespace trivium {

// "xlm" and "flaubert": BERT's design with names of its own and without
// segments (Conneau and Lample 2019, "Cross-lingual Language Model
// Pretraining"; Le et al. 2020, "FlauBERT"). With FlauBERT's `pre_norm`, norms
// come before the sublayers, and none comes last. Embeddings of languages are
// not added, as in Transformers for a text without languages.
FamilyModel LoadXlm(const nlohmann::json& config, const Weights* weights,
                    Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_XLM_H_
