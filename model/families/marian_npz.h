#ifndef TRIVIUM_MODEL_FAMILIES_MARIAN_NPZ_H_
#define TRIVIUM_MODEL_FAMILIES_MARIAN_NPZ_H_

#include "model/families/registry.h"

namespace trivium {

// Marian's own Transformers, read from a .npz's or .bin's array
// special:model.yml, which is `config`, and the parameters' names in Marian's
// src/models/transformer.h. Unknown options that change the arithmetic are
// refused, and so are arrays that nothing reads.
//
// The decoder starts with an embedding of zeros. It becomes the embedding of an
// additional id after the vocabulary, whose logit is so low that it is never
// chosen.
FamilyModel LoadMarianNpz(const nlohmann::json& config, const Weights* weights,
                          Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MARIAN_NPZ_H_
