#ifndef TRIVIUM_MODEL_FAMILIES_ACTIVATION_NAMES_H_
#define TRIVIUM_MODEL_FAMILIES_ACTIVATION_NAMES_H_

#include <optional>
#include <string_view>

#include "base/config_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// Returns the activation of that name in Transformers' ACT2FN.
std::optional<Activation> FindActivation(std::string_view name);

// Returns the activation that `key` names, by the names of Transformers'
// ACT2FN; `fallback` if the key is absent. Adds a problem if the name is
// unknown.
Activation ReadActivation(ConfigReader* config, std::string_view key,
                          Activation fallback);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_ACTIVATION_NAMES_H_
