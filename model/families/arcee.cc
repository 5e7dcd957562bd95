#include "model/families/arcee.h"

#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadArcee(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  StackDescription& decoder = description.decoder.emplace(ReadLlamaConfig(
      config, {.usual_activation = Activation::kSquaredRelu, .epsilon = 1e-5},
      &geometry));
  model.generation_defaults = {{"bos_token_id", 128000},
                               {"eos_token_id", 128001}};
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &decoder);
  LlamaTensors has = {.gated = false};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  has.feed_forward_bias = config->Boolean("mlp_bias").value_or(false);
  ReadLlamaModel(&family, has, {geometry}, /*tied_by_default=*/false,
                 &description);
  return model;
}

}  // namespace trivium
