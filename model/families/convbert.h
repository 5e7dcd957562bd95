#ifndef TRIVIUM_MODEL_FAMILIES_CONVBERT_H_
#define TRIVIUM_MODEL_FAMILIES_CONVBERT_H_

#include "model/families/registry.h"

namespace trivium {

// ConvBERT (Jiang et al. 2020): ELECTRA with fewer heads of attention, beside
// which others read near tokens. Some sizes have feed-forwards in groups. Like
// Transformers' models/convbert/modeling_convbert.py.
FamilyModel LoadConvBert(const nlohmann::json& config, const Weights* weights,
                         Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_CONVBERT_H_
