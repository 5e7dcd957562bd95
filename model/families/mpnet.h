#ifndef TRIVIUM_MODEL_FAMILIES_MPNET_H_
#define TRIVIUM_MODEL_FAMILIES_MPNET_H_

#include "model/families/registry.h"

namespace trivium {

// MPNet (Song et al. 2020): BERT with RoBERTa's positions, no segments, and a
// bias on the scores by distance. Like Transformers'
// models/mpnet/modeling_mpnet.py.
FamilyModel LoadMpnet(const nlohmann::json& config, const Weights* weights,
                      Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MPNET_H_
