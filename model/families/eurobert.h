#ifndef TRIVIUM_MODEL_FAMILIES_EUROBERT_H_
#define TRIVIUM_MODEL_FAMILIES_EUROBERT_H_

#include "model/families/registry.h"

namespace trivium {

// EuroBERT (Boizard et al. 2025): LLaMA's layers as an encoder, with attention
// both ways. Like Transformers' models/eurobert/modeling_eurobert.py.
FamilyModel LoadEuroBert(const nlohmann::json& config, const Weights* weights,
                         Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_EUROBERT_H_
