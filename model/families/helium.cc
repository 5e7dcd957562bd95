#include "model/families/helium.h"

#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadHelium(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 3}};
  StackDescription& decoder = description.decoder.emplace(ReadLlamaConfig(
      config, {.head_size = 128, .kv_heads = 20, .epsilon = 1e-8}, &geometry));
  ReadLlamaRotary(config, /*usual_theta=*/1e5, &geometry, &decoder);
  const LlamaTensors has = {
      .attention_bias = config->Boolean("attention_bias").value_or(false),
      .feed_forward_bias = config->Boolean("mlp_bias").value_or(false),
      .turns_adjacent = true};
  ReadLlamaModel(&family, has, {geometry}, /*tied_by_default=*/false,
                 &description);
  return model;
}

}  // namespace trivium
