#ifndef TRIVIUM_MODEL_FAMILIES_GEMMA4_H_
#define TRIVIUM_MODEL_FAMILIES_GEMMA4_H_

#include "model/families/registry.h"

namespace trivium {

// The text model of Gemma 4: heads of other sizes in the layers that see
// everything, inputs of each layer by token, layers that read earlier layers'
// keys and values, and experts beside the feed-forward. Like Transformers'
// models/gemma4/modeling_gemma4.py.
FamilyModel LoadGemma4Text(const nlohmann::json& config, const Weights* weights,
                           Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GEMMA4_H_
