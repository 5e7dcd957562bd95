#ifndef TRIVIUM_MODEL_FAMILIES_ROFORMER_H_
#define TRIVIUM_MODEL_FAMILIES_ROFORMER_H_

#include "model/families/registry.h"

namespace trivium {

// RoFormer (Su et al. 2021): BERT with rotary positions, which turn pairs of
// adjacent dimensions, and perhaps narrower embeddings. rotary_value is
// refused. Like Transformers' models/roformer/modeling_roformer.py.
FamilyModel LoadRoFormer(const nlohmann::json& config, const Weights* weights,
                         Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_ROFORMER_H_
