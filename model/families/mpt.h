#ifndef TRIVIUM_MODEL_FAMILIES_MPT_H_
#define TRIVIUM_MODEL_FAMILIES_MPT_H_

#include "model/families/registry.h"

namespace trivium {

// MptForCausalLM (MosaicML 2023): layer norms without a bias, ALiBi, and
// products without a bias.
FamilyModel LoadMpt(const nlohmann::json& config, const Weights* weights,
                    Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MPT_H_
