#ifndef TRIVIUM_MODEL_FAMILIES_GEMMA3_H_
#define TRIVIUM_MODEL_FAMILIES_GEMMA3_H_

#include "model/families/registry.h"

namespace trivium {

// Gemma3ForCausalLM ("Gemma 3 Technical Report", 2025): norms before each
// sublayer, of its output, of queries and of keys, with the factor 1 + weight;
// five layers with windows for each layer that sees everything, and rotary
// positions of their own for each kind; embeddings times sqrt(d_model). With
// use_bidirectional_attention it is an encoder (EmbeddingGemma, 2025).
FamilyModel LoadGemma3Text(const nlohmann::json& config, const Weights* weights,
                           Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GEMMA3_H_
