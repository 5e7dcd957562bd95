#ifndef TRIVIUM_MODEL_FAMILIES_REGISTRY_H_
#define TRIVIUM_MODEL_FAMILIES_REGISTRY_H_

#include <string_view>
#include <vector>

#include "base/config_reader.h"
#include "model/transformer/description.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The result of a family's loader.
struct FamilyModel {
  TransformerDescription description;
  // Generation settings of the family's Transformers config class, for folders
  // that name none, in the form of config.json.
  nlohmann::json generation_defaults = nlohmann::json::object();
};

// Reads config.json and weights (null: check only the configuration) into a
// Transformer's description. The result may be used only if no problem was
// added.
using FamilyLoader = FamilyModel (*)(const nlohmann::json& config,
                                     const Weights* weights,
                                     Problems* problems);

// Returns the loader for config.json's model_type; null if it is unknown. To
// add a family, write families/<name>.cc and add its line here.
FamilyLoader FindFamily(std::string_view model_type);

// Returns the known model types.
std::vector<std::string_view> FamilyNames();

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_REGISTRY_H_
