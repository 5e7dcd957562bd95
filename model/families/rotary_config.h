#ifndef TRIVIUM_MODEL_FAMILIES_ROTARY_CONFIG_H_
#define TRIVIUM_MODEL_FAMILIES_ROTARY_CONFIG_H_

#include <string>
#include <string_view>

#include "base/config_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// What a family knows of its rotary positions.
struct RotaryDefaults {
  int head_size = 0;
  int max_positions = 0;
  double theta = 10000;  // where config.json has none
};

// Rotary positions as config.json has them, in the form that Transformers
// writes since its version 5 (`rope_parameters`) or in the older one
// (`rope_theta` and `rope_scaling`): of every type that was published.
//
// Two types have frequencies that depend on how long a text is. A token's keys
// are kept for tokens to come, and its bits must not depend on how many those
// will be, so here frequencies depend on the model alone:
// - dynamic: those of texts within max_position_embeddings, which are not
//   scaled, and longer ones are not served;
// - longrope: the long factors where max_position_embeddings exceeds what the
//   model was first trained for, else the short ones. (So do vLLM and llama.cpp
//   choose: by the longest text that is served. Transformers chooses anew for
//   each step's length, with the keys of shorter ones cached.)
// Both say so in RotaryDescription::caveat.
RotaryDescription ReadRotary(ConfigReader* config,
                             const RotaryDefaults& defaults);

// The same of one of several sets: the object `values`, called `name` in
// messages, whose keys are those of rope_parameters.
RotaryDescription ReadRotarySet(const nlohmann::json& values,
                                const std::string& name,
                                const RotaryDefaults& defaults,
                                Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_ROTARY_CONFIG_H_
