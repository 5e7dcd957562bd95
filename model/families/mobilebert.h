#ifndef TRIVIUM_MODEL_FAMILIES_MOBILEBERT_H_
#define TRIVIUM_MODEL_FAMILIES_MOBILEBERT_H_

#include "model/families/registry.h"

namespace trivium {

// MobileBERT (Sun et al. 2020): BERT whose layers narrow their input, run
// several small feed-forwards and widen the result; most have no norms but
// factors. Tokens are embedded together with their neighbours. Like
// Transformers' models/mobilebert/modeling_mobilebert.py.
FamilyModel LoadMobileBert(const nlohmann::json& config, const Weights* weights,
                           Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MOBILEBERT_H_
