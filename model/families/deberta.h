#ifndef TRIVIUM_MODEL_FAMILIES_DEBERTA_H_
#define TRIVIUM_MODEL_FAMILIES_DEBERTA_H_

#include "model/families/registry.h"

namespace trivium {

// DeBERTa (He et al. 2020): BERT whose attention relates contents and distances
// instead of adding positions to the words. Like Transformers'
// models/deberta/modeling_deberta.py.
FamilyModel LoadDeberta(const nlohmann::json& config, const Weights* weights,
                        Problems* problems);

// DeBERTa v2 and v3 (He et al. 2021): far distances share rows, and contents
// and distances may share projections. Like
// models/deberta_v2/modeling_deberta_v2.py.
FamilyModel LoadDebertaV2(const nlohmann::json& config, const Weights* weights,
                          Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_DEBERTA_H_
