#include "model/families/mixtral.h"

#include <vector>

#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"

namespace trivium {

ExpertsDescription ReadMixtralExperts(TensorReader* tensors,
                                      const std::string& name,
                                      const ExpertCounts& counts,
                                      const StackDescription& stack) {
  const std::string block = name + "block_sparse_moe.";
  return ReadExperts(tensors,
                     {.router = block + "gate",
                      .experts = block + "experts.",
                      .gate = "w1",
                      .up = "w3",
                      .down = "w2"},
                     counts, stack.feed_forward, stack.d_model);
}

FamilyModel LoadMixtral(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  LlamaFamily family(json, weights, problems, {.kv_heads = 8, .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  family.ReadRotary(/*usual_theta=*/1e6);
  const std::vector<AttentionGeometry> geometries =
      SlidingGeometries(config, family.geometry, family.decoder.layers);
  const ExpertCounts counts =
      ReadExpertCounts(config, "num_local_experts", {.all = 8, .chosen = 2});
  return family.ReadModel(
      {}, geometries, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        layer->experts =
            ReadMixtralExperts(tensors, name, counts, family.decoder);
      });
}

}  // namespace trivium
