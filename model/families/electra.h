#ifndef TRIVIUM_MODEL_FAMILIES_ELECTRA_H_
#define TRIVIUM_MODEL_FAMILIES_ELECTRA_H_

#include "model/families/registry.h"

namespace trivium {

// ELECTRA (Clark et al. 2020), discriminator or generator: BERT; its small
// sizes have narrow embeddings and a projection. Like Transformers'
// models/electra/modeling_electra.py.
FamilyModel LoadElectra(const nlohmann::json& config, const Weights* weights,
                        Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_ELECTRA_H_
