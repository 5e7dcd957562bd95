#ifndef TRIVIUM_MODEL_FAMILIES_GPT_BIGCODE_H_
#define TRIVIUM_MODEL_FAMILIES_GPT_BIGCODE_H_

#include "model/families/registry.h"

namespace trivium {

// GPTBigCodeForCausalLM (SantaCoder and StarCoder, BigCode 2023): GPT-2 whose
// heads share one head of keys and values.
FamilyModel LoadGptBigCode(const nlohmann::json& config, const Weights* weights,
                           Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GPT_BIGCODE_H_
