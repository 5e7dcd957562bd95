#ifndef TRIVIUM_MODEL_FAMILIES_DISTILBERT_H_
#define TRIVIUM_MODEL_FAMILIES_DISTILBERT_H_

#include "model/families/registry.h"

namespace trivium {

// DistilBERT (Sanh et al. 2019): BERT with half the layers, without segments
// and pooler. Like Transformers' models/distilbert/modeling_distilbert.py.
FamilyModel LoadDistilBert(const nlohmann::json& config, const Weights* weights,
                           Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_DISTILBERT_H_
