#ifndef TRIVIUM_MODEL_FAMILIES_MARIAN_H_
#define TRIVIUM_MODEL_FAMILIES_MARIAN_H_

#include "model/families/registry.h"

namespace trivium {

// Marian (OPUS-MT): encoder and decoder with sinusoidal positions and norms
// after each sublayer; one vocabulary or two. Like Transformers'
// models/marian/modeling_marian.py.
FamilyModel LoadMarian(const nlohmann::json& config, const Weights* weights,
                       Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MARIAN_H_
