#ifndef TRIVIUM_MODEL_FAMILIES_GEMMA4_CONFIG_H_
#define TRIVIUM_MODEL_FAMILIES_GEMMA4_CONFIG_H_

#include <vector>

#include "base/config_reader.h"
#include "model/transformer/description.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The options of Gemma 4 that StackDescription does not hold.
struct Gemma4Config {
  std::vector<AttentionGeometry> geometries;  // [layers]
  std::vector<bool> slides;                   // [layers]
  bool bias = false;                          // of attention
  bool key_is_value = false;                  // in layers that do not slide
  bool wide_sharers = false;  // layers that read other layers' keys have
                              // feed-forwards of twice the width
  int token_width = 0;        // of the layers' inputs by token; 0: none
  int token_vocabulary = 0;   // of these inputs
  int experts = 0;            // 0: none
  int chosen = 0;
  int expert_inner = 0;
  float logit_soft_cap = 0;
};

// Reads it all, and the sizes and rotary positions of `stack`.
Gemma4Config ReadGemma4Config(ConfigReader* config, const nlohmann::json& json,
                              StackDescription* stack);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GEMMA4_CONFIG_H_
