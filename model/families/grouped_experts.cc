#include "model/families/grouped_experts.h"

#include <fmt/format.h>

#include <cstdint>

#include "model/families/sizes.h"

namespace trivium {
namespace {

// Reports groups that do not fit the experts.
void CheckGroups(ConfigReader* config, const GroupedExperts& read) {
  const int all = read.counts.all;
  const auto report = [config](const char* key, const std::string& mend) {
    config->Report(key, config->Find(key), mend);
  };
  if (all % read.groups != 0) {
    return report("n_group",
                  fmt::format("it must divide n_routed_experts, {}", all));
  }
  const int size = all / read.groups;
  if (read.groups_by_two && size < 2) {
    return report("n_group", "each group needs at least two experts");
  }
  if (read.chosen_groups > read.groups) {
    return report("topk_group",
                  fmt::format("it must be at most n_group, {}", read.groups));
  }
  // More than all experts are reported already.
  if (read.counts.chosen <= all &&
      read.counts.chosen > read.chosen_groups * size) {
    report("num_experts_per_tok",
           fmt::format("the {} chosen groups have {} experts",
                       read.chosen_groups, read.chosen_groups * size));
  }
}

}  // namespace

GroupedExperts ReadGroupedExperts(ConfigReader* config,
                                  const GroupedExperts& usual) {
  GroupedExperts read = usual;
  const auto integer = [config](const char* key, int least, int most,
                                int* value) {
    *value = config->Integer(key, least, most).value_or(*value);
  };
  read.counts = ReadExpertCounts(
      config, ExpertCountKey(config, "n_routed_experts"), usual.counts);
  integer("moe_intermediate_size", 1, kMaxWidth, &read.inner);
  integer("n_shared_experts", 0, kMaxExperts, &read.shared);
  if (usual.reads_first) {
    integer("first_k_dense_replace", 0, kMaxLayers, &read.dense_first);
  }
  if (usual.reads_groups) {
    integer("n_group", 1, kMaxExperts, &read.groups);
    integer("topk_group", 1, kMaxExperts, &read.chosen_groups);
  }
  read.factor = static_cast<float>(
      config->Real("routed_scaling_factor", -1e6, 1e6).value_or(usual.factor));
  if (usual.reads_normalized) {
    read.normalized =
        config->Boolean("norm_topk_prob").value_or(usual.normalized);
  }
  CheckGroups(config, read);
  if (int64_t{read.inner} * read.shared > kMaxWidth) {
    config->Report("n_shared_experts", config->Find("n_shared_experts"),
                   fmt::format("times moe_intermediate_size, {}, it must be at "
                               "most {}",
                               read.inner, kMaxWidth));
  }
  return read;
}

namespace {

// Reads the feed-forward of layer `name`, the i-th: experts or a dense one.
// `memory` holds tensors that are parts of others.
void ReadGroupedFeedForward(TensorReader* tensors,
                            const GroupedExperts& experts, int i,
                            const std::string& name,
                            const StackDescription& stack, TensorMemory* memory,
                            LayerDescription* layer) {
  const bool dense =
      experts.dense.empty() ? i < experts.dense_first : experts.dense[i];
  if (dense) {
    ReadGatedFeedForward(tensors, name + "mlp.", stack.feed_forward,
                         experts.shared_bias, stack.d_model, layer);
    return;
  }
  ExpertsDescription& read = layer->experts.emplace(
      ReadUsualExperts(tensors, name + "mlp.", experts.counts, experts.inner,
                       stack.d_model, memory));
  read.over_all = !experts.normalized;
  read.scores = experts.scores;
  read.groups = experts.groups;
  read.chosen_groups = experts.chosen_groups;
  read.groups_by_two = experts.groups_by_two;
  read.factor = experts.factor;
  if (experts.corrected) {
    read.correction = tensors->Required(
        name + "mlp.gate.e_score_correction_bias", {experts.counts.all});
  }
  if (experts.shared == 0) return;
  read.shared = ReadGated(tensors, name + "mlp.shared_experts.",
                          experts.inner * experts.shared, experts.shared_bias,
                          stack.d_model);
}

}  // namespace

void ReadGroupedModel(FamilyReader* family, const LlamaTensors& has,
                      const std::vector<AttentionGeometry>& geometries,
                      const GroupedExperts& experts,
                      TransformerDescription* description) {
  ReadLlamaModel(
      family, has, geometries, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int i, const std::string& name,
          LayerDescription* layer) {
        ReadGroupedFeedForward(tensors, experts, i, name, *description->decoder,
                               &description->memory, layer);
      },
      description);
}

}  // namespace trivium
