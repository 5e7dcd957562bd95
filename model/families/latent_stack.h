#ifndef TRIVIUM_MODEL_FAMILIES_LATENT_STACK_H_
#define TRIVIUM_MODEL_FAMILIES_LATENT_STACK_H_

#include <string>

#include "base/config_reader.h"
#include "model/families/derived_tensors.h"
#include "model/families/rotary_config.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The attention of DeepSeek V2 and its descendants, see LatentDescription.

struct LatentConfig {
  AttentionGeometry geometry;
  int rank = 0;
  int query_rank = 0;  // 0: queries are not narrowed
  int turned = 0;
  int plain = 0;
  int value = 0;
  bool adjacent = true;  // rotary positions turn adjacent dimensions
  bool bias = false;     // of the products that narrow, and of the output
};

// A family's defaults.
struct LatentDefaults {
  int rank = 512;
  int query_rank = 1536;
  int plain = 128;
  int value = 128;
  RotaryDefaults rotary = {};
};

// Reads the sizes and the rotary positions from config.json, which `json` is,
// too. `stack` must have its heads.
LatentConfig ReadLatentConfig(ConfigReader* config, const nlohmann::json& json,
                              const LatentDefaults& usual,
                              StackDescription* stack);

// Reads the attention `name`, which ends with a dot.
AttentionDescription ReadLatentAttention(TensorReader* tensors,
                                         const std::string& name,
                                         const LatentConfig& config,
                                         int d_model, TensorMemory* memory);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_LATENT_STACK_H_
