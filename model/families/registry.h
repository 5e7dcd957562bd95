#ifndef TRIVIUM_MODEL_FAMILIES_REGISTRY_H_
#define TRIVIUM_MODEL_FAMILIES_REGISTRY_H_

#include <string_view>
#include <vector>

#include "base/config_reader.h"
#include "model/transformer/description.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// What a family makes of a folder.
struct FamilyModel {
  TransformerDescription description;
  // Generation settings that Transformers' config class of the family has
  // where the folder names none, as they would stand in config.json.
  nlohmann::json generation_defaults = nlohmann::json::object();
};

// Reads config.json and weights (null: check the configuration only) into the
// one Transformer. The result is of use only if no problem was added.
using FamilyLoader = FamilyModel (*)(const nlohmann::json& config,
                                     const Weights* weights,
                                     Problems* problems);

// The loader for config.json's model_type; null for an unknown one. To add a
// family, write families/<name>.cc and add its line here.
FamilyLoader FindFamily(std::string_view model_type);

// The known model types.
std::vector<std::string_view> FamilyNames();

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_REGISTRY_H_
