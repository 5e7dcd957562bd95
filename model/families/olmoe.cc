#include "model/families/olmoe.h"

#include <string>

#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"
#include "model/families/mixtral.h"

namespace trivium {

FamilyModel LoadOlmoe(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {{"eos_token_id", 50279}, {"pad_token_id", 1}};
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config, {.epsilon = 1e-5}, &geometry));
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &decoder);
  RefuseClippedAttention(config);
  const ExpertCounts counts = ReadExpertCounts(
      config, ExpertCountKey(config, "num_experts"), {.all = 64, .chosen = 8});
  const bool over_all = !config->Boolean("norm_topk_prob").value_or(false);
  LlamaTensors has = {.head_norms = true, .wide_head_norms = true};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  ReadLlamaModel(
      &family, has, {geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        layer->experts =
            ReadExperts(tensors,
                        {.router = name + "mlp.gate",
                         .experts = name + "mlp.experts.",
                         .gate = "gate_proj",
                         .up = "up_proj",
                         .down = "down_proj"},
                        counts, decoder.feed_forward, decoder.d_model);
        layer->experts->over_all = over_all;
      },
      &description);
  return model;
}

}  // namespace trivium
