#include "model/families/hunyuan.h"

#include "model/families/decoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadHunyuanDense(const nlohmann::json& json, const Weights* weights,
                             Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 0}};
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config, {.epsilon = 1e-5}, &geometry));
  ReadLlamaRotary(config, {.keys = {"alpha"}}, &geometry, &decoder);
  RequireBoolean(config, "use_qk_norm", true);
  RequireBoolean(config, "use_cla", false);
  RequireBoolean(config, "mlp_bias", false);
  LlamaTensors has = {.head_norms = true,
                      .norms_after_rotary = true,
                      .query_norm = "query_layernorm",
                      .key_norm = "key_layernorm"};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  ReadLlamaModel(&family, has, {geometry}, /*tied_by_default=*/false,
                 &description);
  return model;
}

}  // namespace trivium
