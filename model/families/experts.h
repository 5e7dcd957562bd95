#ifndef TRIVIUM_MODEL_FAMILIES_EXPERTS_H_
#define TRIVIUM_MODEL_FAMILIES_EXPERTS_H_

#include <string>
#include <vector>

#include "base/config_reader.h"
#include "model/families/derived_tensors.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// The parts that families with mixtures of experts share: the numbers of
// experts in config.json, and their tensors.

// A family's names of a layer's experts: `router`.weight, and
// `experts`N.`gate`.weight and so on. Without a name, there is no gate.
struct ExpertNames {
  std::string router, experts;
  std::string gate = "gate_proj", up = "up_proj", down = "down_proj";
  bool router_bias = false;
  bool expert_biases = false;
};

// The number of experts, and how many of them are chosen for a token.
struct ExpertCounts {
  int all = 0;
  int chosen = 0;
};
// A key without a `usual` count (0) is required.
ExpertCounts ReadExpertCounts(
    ConfigReader* config, const std::string& all_key, const ExpertCounts& usual,
    const std::string& chosen_key = "num_experts_per_tok");
// Returns the key of the number of experts: `own` if config.json has it, else
// num_local_experts, which Transformers writes since version 5.
std::string ExpertCountKey(ConfigReader* config, const char* own);

// A family's names of all experts' matrices in one tensor each: the router's
// weight, gates and ups [experts, 2 inner, d_model], downs [experts, d_model,
// inner]. The first name that there is counts.
struct StackedExpertNames {
  std::vector<std::string> router, up, down;
  // True: [experts, d_model, 2 inner] and [experts, inner, d_model].
  bool transposed = false;
};
ExpertsDescription ReadStackedExperts(TensorReader* tensors,
                                      const StackedExpertNames& names,
                                      const ExpertCounts& counts, int inner,
                                      int d_model, TensorMemory* memory);

// Reads the experts of a layer, each `inner` wide between its products.
ExpertsDescription ReadExperts(TensorReader* tensors, const ExpertNames& names,
                               const ExpertCounts& counts, int inner,
                               int d_model);
// Reads those of `block`, which ends with a dot, under Transformers' usual
// names: gate, experts.N.gate_proj and so on, or experts.gate_up_proj and
// experts.down_proj of all, either way around.
ExpertsDescription ReadUsualExperts(TensorReader* tensors,
                                    const std::string& block,
                                    const ExpertCounts& counts, int inner,
                                    int d_model, TensorMemory* memory);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_EXPERTS_H_
