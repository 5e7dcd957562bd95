#ifndef TRIVIUM_MODEL_FAMILIES_HUNYUAN_H_
#define TRIVIUM_MODEL_FAMILIES_HUNYUAN_H_

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Reads the dense Hunyuan (Tencent 2025) and its translator Hy-MT: LLaMA with
// norms of queries and keys after rotary positions, whose base `alpha`
// stretches.
FamilyModel LoadHunyuanDense(const nlohmann::json& json, const Weights* weights,
                             Problems* problems);

// Reads Hunyuan's mixtures of experts (Hunyuan-A13B): the same with experts,
// and one feed-forward that all tokens share, in each layer.
FamilyModel LoadHunyuanMoe(const nlohmann::json& json, const Weights* weights,
                           Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_HUNYUAN_H_
