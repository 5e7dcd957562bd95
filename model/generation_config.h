#ifndef TRIVIUM_MODEL_GENERATION_CONFIG_H_
#define TRIVIUM_MODEL_GENERATION_CONFIG_H_

#include <cstdint>
#include <vector>

#include "base/config_reader.h"
#include "model/search/decoding.h"
#include "model/task.h"
#include "nlohmann/json.hpp"

namespace trivium {

// How a folder wants its text generated.
struct GenerationConfig {
  DecodingOptions options;
  std::vector<int32_t> decoder_prefix;
  std::vector<Task> tasks;
};

// What generation needs to know of the model.
struct GenerationLimits {
  int vocabulary = 0;         // of the output
  int max_target_tokens = 0;  // the decoder's positions
  bool has_encoder = false;   // then the decoder needs a start token
};

// Reads Transformers' generation settings, over its defaults; `config` looks
// into generation_config.json, config.json and the family's defaults, in this
// order. Lengths are counted without the decoder's start token, unlike
// Transformers' max_length, which a model without an encoder does not heed.
GenerationConfig ReadGenerationConfig(ConfigReader* config,
                                      const GenerationLimits& limits);

// The tasks of config.json's task_specific_params, ascending by name, whose
// settings go before those of `layers`.
std::vector<Task> ReadTasks(const nlohmann::json& config,
                            std::vector<ConfigReader::Layer> layers,
                            const GenerationLimits& limits, Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GENERATION_CONFIG_H_
