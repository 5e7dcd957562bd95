#ifndef TRIVIUM_MODEL_FAMILIES_ROTARY_CONFIG_H_
#define TRIVIUM_MODEL_FAMILIES_ROTARY_CONFIG_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/config_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// A family's defaults for its rotary positions.
struct RotaryDefaults {
  int head_size = 0;
  int max_positions = 0;
  double theta = 10000;  // if config.json has none
  // The part of each head's dimensions that is turned, if config.json has no
  // partial_rotary_factor; 0: this family turns whole heads.
  double partial = 0;
  // Dimensions of a head that are turned, if not by that factor (GPT-J).
  int turned = 0;
  // Keys of a set that only this family has: alpha (Hunyuan's scaled base),
  // llama_4_scaling_beta (RotaryDescription::query_growth), short_mscale and
  // long_mscale (longrope's magnitudes), or some that change nothing for texts.
  std::vector<std::string_view> keys = {};
};

// Reads rotary positions from config.json, in the form that Transformers writes
// since version 5 (`rope_parameters`) or in the older one (`rope_theta` and
// `rope_scaling`). Supported are the types default, linear, dynamic, ntk, yarn,
// longrope, llama3 and proportional.
//
// Two types have frequencies that depend on a text's length. A token's keys are
// kept for later tokens, and their bits must not depend on how many follow. So
// here the frequencies depend on the model alone:
//
// - dynamic: the frequencies of texts within max_position_embeddings, which are
//   not scaled; longer texts are not served.
// - longrope: the long factors if max_position_embeddings exceeds the length of
//   the first training, else the short ones. (vLLM and llama.cpp choose in the
//   same way, by the longest text that is served. Transformers chooses anew for
//   each step's length, with the keys of shorter ones cached.)
//
// Both are described in RotaryDescription::caveat.
RotaryDescription ReadRotary(ConfigReader* config,
                             const RotaryDefaults& defaults);

// Reads one of several sets: the object `values`, called `name` in messages,
// with the keys of rope_parameters.
RotaryDescription ReadRotarySet(const nlohmann::json& values,
                                const std::string& name,
                                const RotaryDefaults& defaults,
                                Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_ROTARY_CONFIG_H_
