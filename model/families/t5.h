#ifndef TRIVIUM_MODEL_FAMILIES_T5_H_
#define TRIVIUM_MODEL_FAMILIES_T5_H_

#include "model/families/registry.h"

namespace trivium {

// T5 (Raffel et al. 2019), its versions 1.0 and 1.1, Flan-T5, MADLAD-400: an
// encoder-decoder without biases, whose attention knows distances instead of
// places, with RMS norms before each sublayer. Its classifiers are encoders
// with a second reading. Like Transformers' models/t5/modeling_t5.py.
FamilyModel LoadT5(const nlohmann::json& config, const Weights* weights,
                   Problems* problems);

// mT5 (Xue et al. 2020): T5 1.1.
FamilyModel LoadMt5(const nlohmann::json& config, const Weights* weights,
                    Problems* problems);

// UMT5 (Chung et al. 2023): each layer has a bias of distances of its own. Like
// Transformers' models/umt5/modeling_umt5.py.
FamilyModel LoadUmt5(const nlohmann::json& config, const Weights* weights,
                     Problems* problems);

// LongT5 (Guo et al. 2022): T5 1.1 whose encoder's layers see local_radius
// tokens on either side and, with transient-global attention, a sum of each
// global_block_size tokens. Like Transformers'
// models/longt5/modeling_longt5.py.
FamilyModel LoadLongT5(const nlohmann::json& config, const Weights* weights,
                       Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_T5_H_
