#ifndef TRIVIUM_MODEL_FAMILIES_MIXTRAL_H_
#define TRIVIUM_MODEL_FAMILIES_MIXTRAL_H_

#include <string>

#include "model/families/registry.h"
#include "model/families/tensor_reader.h"

namespace trivium {

// MixtralForCausalLM (Jiang et al. 2024): LLaMA whose feed-forwards are
// mixtures of experts.
FamilyModel LoadMixtral(const nlohmann::json& config, const Weights* weights,
                        Problems* problems);

// How a family names a layer's experts: `router`.weight, and
// `experts`N.`gate`.weight and so on.
struct ExpertNames {
  std::string router, experts, gate, up, down;
};

// How many experts there are, and how many of them a token has, of the key
// num_experts_per_tok.
struct ExpertCounts {
  int all = 0;
  int chosen = 0;
};
ExpertCounts ReadExpertCounts(ConfigReader* config, const std::string& all_key,
                              const ExpertCounts& usual);

// The experts of a layer, each with its tensors of `inner` numbers between its
// products.
ExpertsDescription ReadExperts(TensorReader* tensors, const ExpertNames& names,
                               const ExpertCounts& counts, int inner,
                               int d_model);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MIXTRAL_H_
