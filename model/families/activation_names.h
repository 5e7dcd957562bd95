#ifndef TRIVIUM_MODEL_FAMILIES_ACTIVATION_NAMES_H_
#define TRIVIUM_MODEL_FAMILIES_ACTIVATION_NAMES_H_

#include <string_view>

#include "base/config_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// The activation that `key` names as Transformers' ACT2FN does; `fallback`
// when absent, a problem when unknown.
Activation ReadActivation(ConfigReader* config, std::string_view key,
                          Activation fallback);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_ACTIVATION_NAMES_H_
