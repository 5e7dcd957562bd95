#ifndef TRIVIUM_MODEL_FAMILIES_GRANITE_H_
#define TRIVIUM_MODEL_FAMILIES_GRANITE_H_

#include "base/config_reader.h"
#include "model/families/llama_stack.h"
#include "model/families/registry.h"
#include "model/transformer/description.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads Granite 3 (IBM 2024): LLaMA with factors of its embeddings, scores,
// residual connections and logits.
FamilyModel LoadGranite(const nlohmann::json& json, const Weights* weights,
                        Problems* problems);

// Reads these factors into a description that has its decoder, and whether
// attention has biases.
LlamaTensors ReadGraniteFactors(ConfigReader* config,
                                AttentionGeometry* geometry,
                                TransformerDescription* description);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GRANITE_H_
