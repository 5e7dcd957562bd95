#ifndef TRIVIUM_MODEL_FAMILIES_ALBERT_H_
#define TRIVIUM_MODEL_FAMILIES_ALBERT_H_

#include "model/families/registry.h"

namespace trivium {

// ALBERT (Lan et al. 2019): BERT with narrow embeddings and a projection, and
// groups of layers that share their tensors. Like Transformers'
// models/albert/modeling_albert.py.
FamilyModel LoadAlbert(const nlohmann::json& config, const Weights* weights,
                       Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_ALBERT_H_
