#include "model/families/granite.h"

#include "model/families/llama_family.h"

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
  LlamaFamily family(json, weights, problems);
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  family.ReadRotary(/*usual_theta=*/10000);
  LlamaTensors has =
      ReadGraniteFactors(config, &family.geometry, &family.description);
  has.feed_forward_bias = config->Boolean("mlp_bias").value_or(false);
  return family.ReadModel(has, {family.geometry}, /*tied_by_default=*/false);
}

}  // namespace trivium
