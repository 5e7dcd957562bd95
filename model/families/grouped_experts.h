#ifndef TRIVIUM_MODEL_FAMILIES_GROUPED_EXPERTS_H_
#define TRIVIUM_MODEL_FAMILIES_GROUPED_EXPERTS_H_

#include <string>
#include <vector>

#include "base/config_reader.h"
#include "model/families/experts.h"
#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"
#include "model/transformer/description.h"

namespace trivium {

// Experts as DeepSeek V2, V3 and GLM 4 MoE have them: beside some that are
// shared by all tokens, chosen from the best groups, and not in the first
// layers.

// The sizes and options of such experts. A family gives its defaults;
// ReadGroupedExperts replaces those that config.json names.
struct GroupedExperts {
  ExpertCounts counts = {};
  int inner = 0;        // width of each
  int shared = 1;       // number of shared experts, which run as one wide one
  int dense_first = 0;  // layers without experts
  int groups = 1;
  int chosen_groups = 1;
  float factor = 1;
  bool normalized = true;  // weights sum to `factor`
  // Only the family says the rest.
  ExpertsDescription::Scores scores = ExpertsDescription::Scores::kSigmoid;
  bool corrected = true;      // there is a correction of scores
  bool groups_by_two = true;  // see ExpertsDescription
  bool shared_bias = false;   // of the shared experts and of dense layers
  // False: these keys of config.json are not for this family.
  bool reads_groups = true;      // n_group, topk_group
  bool reads_normalized = true;  // norm_topk_prob
  bool reads_first = true;       // first_k_dense_replace
  std::vector<bool> dense = {};  // by layer, replaces dense_first if not empty
};

// Reads the keys of config.json over a family's defaults.
GroupedExperts ReadGroupedExperts(ConfigReader* config,
                                  const GroupedExperts& usual);

// Reads a model of LLaMA's layers whose feed-forwards are these experts or
// dense: see ReadLlamaModel. It has an output projection of its own by default.
void ReadGroupedModel(FamilyReader* family, const LlamaTensors& has,
                      const std::vector<AttentionGeometry>& geometries,
                      const GroupedExperts& experts,
                      TransformerDescription* description);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_GROUPED_EXPERTS_H_
