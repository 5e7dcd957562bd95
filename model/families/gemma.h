#ifndef TRIVIUM_MODEL_FAMILIES_GEMMA_H_
#define TRIVIUM_MODEL_FAMILIES_GEMMA_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Gemma's norms have the factor 1 + weight, and its embeddings are multiplied
// by sqrt(d_model). Gemma 2 and 3 have norms before each sublayer and of its
// output.

// Gemma (Gemma Team 2024): LLaMA with such norms and embeddings.
FamilyModel LoadGemma(const nlohmann::json& json, const Weights* weights,
                      Problems* problems);

// Gemma 2 (Gemma Team 2024): every other layer with a window, and soft caps of
// scores and logits.
FamilyModel LoadGemma2(const nlohmann::json& json, const Weights* weights,
                       Problems* problems);

// Gemma3ForCausalLM ("Gemma 3 Technical Report", 2025): norms of queries and
// keys; five layers with windows for each layer that sees everything, and
// rotary positions of their own for each kind. With use_bidirectional_attention
// it is an encoder (EmbeddingGemma, 2025).
FamilyModel LoadGemma3Text(const nlohmann::json& json, const Weights* weights,
                           Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GEMMA_H_
