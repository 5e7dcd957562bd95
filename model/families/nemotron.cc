#include "model/families/nemotron.h"

#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadNemotron(const nlohmann::json& json, const Weights* weights,
                         Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {{"bos_token_id", 2}, {"eos_token_id", 3}};
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config,
                      {.usual_activation = Activation::kSquaredRelu,
                       .epsilon_key = "norm_eps",
                       .epsilon = 1e-5},
                      &geometry));
  ReadLlamaRotary(config, {.partial = 0.5}, &geometry, &decoder);
  LlamaTensors has = {.one_plus_weight = true,
                      .norm_kind = NormTensors::Kind::kLayer,
                      .norm_bias = true,
                      .gated = false};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  has.feed_forward_bias = config->Boolean("mlp_bias").value_or(false);
  ReadLlamaModel(&family, has, {geometry}, /*tied_by_default=*/false,
                 &description);
  return model;
}

}  // namespace trivium
