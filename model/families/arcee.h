#ifndef TRIVIUM_MODEL_FAMILIES_ARCEE_H_
#define TRIVIUM_MODEL_FAMILIES_ARCEE_H_

#include "model/families/registry.h"

namespace trivium {

// ArceeForCausalLM (AFM-4.5B, Arcee AI 2025): LLaMA whose feed-forwards have no
// gate, but the square of ReLU.
FamilyModel LoadArcee(const nlohmann::json& config, const Weights* weights,
                      Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_ARCEE_H_
