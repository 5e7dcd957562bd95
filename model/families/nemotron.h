#ifndef TRIVIUM_MODEL_FAMILIES_NEMOTRON_H_
#define TRIVIUM_MODEL_FAMILIES_NEMOTRON_H_

#include "model/families/registry.h"

namespace trivium {

// NemotronForCausalLM (Nemotron-4 and Minitron, NVIDIA 2024): LLaMA with layer
// norms of 1 + weight, half of each head turned, and feed-forwards without a
// gate, but the square of ReLU.
FamilyModel LoadNemotron(const nlohmann::json& config, const Weights* weights,
                         Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_NEMOTRON_H_
