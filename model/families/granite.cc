#include "model/families/granite.h"

#include "model/families/family_reader.h"

namespace trivium {

LlamaTensors ReadGraniteFactors(ConfigReader* config,
                                AttentionGeometry* geometry,
                                TransformerDescription* description) {
  const auto factor = [&](const char* key) {
    return static_cast<float>(config->Real(key, 1e-9, 1e9).value_or(1));
  };
  description->decoder->embedding_scale = factor("embedding_multiplier");
  geometry->scale = factor("attention_multiplier");
  description->logit_factor = 1 / factor("logits_scaling");
  LlamaTensors has = {.residual_factor = factor("residual_multiplier")};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  return has;
}

FamilyModel LoadGranite(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  StackDescription& decoder =
      description.decoder.emplace(ReadLlamaConfig(config, {}, &geometry));
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &decoder);
  LlamaTensors has = ReadGraniteFactors(config, &geometry, &description);
  has.feed_forward_bias = config->Boolean("mlp_bias").value_or(false);
  ReadLlamaModel(&family, has, {geometry}, /*tied_by_default=*/false,
                 &description);
  return model;
}

}  // namespace trivium
