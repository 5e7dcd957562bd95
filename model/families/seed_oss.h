#ifndef TRIVIUM_MODEL_FAMILIES_SEED_OSS_H_
#define TRIVIUM_MODEL_FAMILIES_SEED_OSS_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads Seed-OSS (ByteDance 2025): LLaMA with biases of its own.
FamilyModel LoadSeedOss(const nlohmann::json& json, const Weights* weights,
                        Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_SEED_OSS_H_
