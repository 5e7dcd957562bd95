#include "model/families/glm4_moe.h"

#include <string>

#include "model/families/family_reader.h"
#include "model/families/grouped_experts.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadGlm4Moe(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config, {.kv_heads = 8, .epsilon = 1e-5}, &geometry));
  ReadLlamaRotary(config, {.partial = 0.5}, &geometry, &decoder);
  const GroupedExperts experts = ReadGroupedExperts(
      config,
      {.counts = {.all = 128, .chosen = 8}, .inner = 1408, .dense_first = 1});
  const LlamaTensors has = {
      .attention_bias = config->Boolean("attention_bias").value_or(false),
      .head_norms = config->Boolean("use_qk_norm").value_or(false)};
  ReadLlamaModel(
      &family, has, {geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int i, const std::string& name,
          LayerDescription* layer) {
        ReadGroupedFeedForward(tensors, experts, i, name, decoder,
                               &description.memory, layer);
      },
      &description);
  return model;
}

}  // namespace trivium
