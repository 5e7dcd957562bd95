#ifndef TRIVIUM_MODEL_FAMILIES_GPTJ_H_
#define TRIVIUM_MODEL_FAMILIES_GPTJ_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads GPT-J (Wang and Komatsuzaki 2021): attention and feed-forward side by
// side, and adjacent dimensions turned in a part of each head.
FamilyModel LoadGptJ(const nlohmann::json& json, const Weights* weights,
                     Problems* problems);

// Reads CodeGen (Nijkamp et al. 2022): GPT-J with one product of queries,
// values and keys, in four parts.
FamilyModel LoadCodeGen(const nlohmann::json& json, const Weights* weights,
                        Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GPTJ_H_
