#ifndef TRIVIUM_MODEL_FAMILIES_MARIAN_NPZ_H_
#define TRIVIUM_MODEL_FAMILIES_MARIAN_NPZ_H_

#include "model/families/registry.h"

namespace trivium {

// Marian's own Transformers, of a .npz's or .bin's array special:model.yml and
// the names that its src/models/transformer.h gives to parameters. `config` is
// that array. What changes the arithmetic and is not known is refused by its
// key, and so are arrays that nothing reads.
//
// The decoder starts with an embedding of zeros, which becomes that of an id of
// its own, the one behind the vocabulary; its logit is one that is never
// chosen.
FamilyModel LoadMarianNpz(const nlohmann::json& config, const Weights* weights,
                          Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MARIAN_NPZ_H_
