#ifndef TRIVIUM_MODEL_FAMILIES_GEMMA_H_
#define TRIVIUM_MODEL_FAMILIES_GEMMA_H_

#include <vector>

#include "base/config_reader.h"
#include "model/families/llama_stack.h"
#include "model/families/registry.h"
#include "model/transformer/description.h"
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

// A stack of Gemma's layers without its tensors, and how these are read.
struct GemmaStack {
  StackDescription stack;
  std::vector<AttentionGeometry> geometries;  // of each layer
  LlamaTensors has;
  float logit_soft_cap = 0;
  int window = 0;  // of the layers that slide
};
// `config` reads `json`. With `both_ways`, tokens also see those after them,
// and windows extend as far to either side.
GemmaStack ReadGemma2Stack(const nlohmann::json& json, bool both_ways,
                           ConfigReader* config);
// The same of Gemma 3. In both directions, a window extends half as far to
// either side.
GemmaStack ReadGemma3Stack(const nlohmann::json& json, bool both_ways,
                           ConfigReader* config);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GEMMA_H_
