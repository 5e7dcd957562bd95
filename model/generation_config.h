#ifndef TRIVIUM_MODEL_GENERATION_CONFIG_H_
#define TRIVIUM_MODEL_GENERATION_CONFIG_H_

#include <cstdint>
#include <vector>

#include "base/config_reader.h"
#include "model/search/decoding.h"
#include "model/task.h"
#include "nlohmann/json.hpp"

namespace trivium {

// A folder's settings for generating text.
struct GenerationConfig {
  DecodingOptions options;
  bool names_sampling = false;        // temperature, top_k, top_p or min_p
  bool names_max_new_tokens = false;  // or a max_length that counts
  std::vector<int32_t> decoder_prefix;
  std::vector<Task> tasks;
};

// The properties of the model that generation settings depend on.
struct GenerationLimits {
  int vocabulary = 0;         // size of the output
  int max_target_tokens = 0;  // the decoder's positions
  bool has_encoder = false;   // an encoder-decoder needs a start token
};

// Reads Transformers' generation settings over Transformers' defaults. `config`
// looks into generation_config.json, config.json and the family's defaults, in
// this order. Lengths exclude the decoder's start token, unlike Transformers'
// max_length; max_length is ignored without an encoder.
GenerationConfig ReadGenerationConfig(ConfigReader* config,
                                      const GenerationLimits& limits);

// Reads the tasks of config.json's task_specific_params, ascending by name. A
// task's settings override those of `layers`.
std::vector<Task> ReadTasks(const nlohmann::json& config,
                            std::vector<ConfigReader::Layer> layers,
                            const GenerationLimits& limits, Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GENERATION_CONFIG_H_
