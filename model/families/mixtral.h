#ifndef TRIVIUM_MODEL_FAMILIES_MIXTRAL_H_
#define TRIVIUM_MODEL_FAMILIES_MIXTRAL_H_

#include <string>

#include "model/families/experts.h"
#include "model/families/registry.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// MixtralForCausalLM (Jiang et al. 2024): LLaMA whose feed-forwards are
// mixtures of experts.
FamilyModel LoadMixtral(const nlohmann::json& config, const Weights* weights,
                        Problems* problems);

// Reads the experts of layer `name`, which ends with a dot, with Mixtral's
// names.
ExpertsDescription ReadMixtralExperts(TensorReader* tensors,
                                      const std::string& name,
                                      const ExpertCounts& counts,
                                      const StackDescription& stack);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MIXTRAL_H_
