#ifndef TRIVIUM_MODEL_FAMILIES_MINIMAX_M2_H_
#define TRIVIUM_MODEL_FAMILIES_MINIMAX_M2_H_

#include "model/families/registry.h"

namespace trivium {

// MiniMaxM2ForCausalLM: Mixtral with norms over all heads of queries and of
// keys, rotary positions of a part of each head, and experts that are chosen
// by sigmoids with a correction.
FamilyModel LoadMiniMaxM2(const nlohmann::json& config, const Weights* weights,
                          Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MINIMAX_M2_H_
