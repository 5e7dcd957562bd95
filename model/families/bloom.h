#ifndef TRIVIUM_MODEL_FAMILIES_BLOOM_H_
#define TRIVIUM_MODEL_FAMILIES_BLOOM_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads BLOOM (BigScience 2022), whose heads prefer near keys (ALiBi) and which
// has no other positions.
FamilyModel LoadBloom(const nlohmann::json& json, const Weights* weights,
                      Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_BLOOM_H_
