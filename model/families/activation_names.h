#ifndef TRIVIUM_MODEL_FAMILIES_ACTIVATION_NAMES_H_
#define TRIVIUM_MODEL_FAMILIES_ACTIVATION_NAMES_H_

#include <optional>
#include <string_view>

#include "base/config_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// The activation of that name in Transformers' ACT2FN.
std::optional<Activation> FindActivation(std::string_view name);

// The activation that `key` names as Transformers' ACT2FN does; `fallback`
// when absent, a problem when unknown.
Activation ReadActivation(ConfigReader* config, std::string_view key,
                          Activation fallback);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_ACTIVATION_NAMES_H_
