#ifndef TRIVIUM_MODEL_FAMILIES_NANOCHAT_H_
#define TRIVIUM_MODEL_FAMILIES_NANOCHAT_H_

#include "model/families/registry.h"

namespace trivium {

// NanoChatForCausalLM (Karpathy 2025): a decoder whose norms have no factors,
// also one of the embeddings, and those of queries and keys come after rotary
// positions, which turn the other way. Feed-forwards have no gate, but the
// square of ReLU.
FamilyModel LoadNanoChat(const nlohmann::json& config, const Weights* weights,
                         Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_NANOCHAT_H_
