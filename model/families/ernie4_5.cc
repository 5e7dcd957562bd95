#include "model/families/ernie4_5.h"

#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadErnie45(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 0}};
  StackDescription& decoder = description.decoder.emplace(ReadLlamaConfig(
      config, {.head_size = 128, .kv_heads = 2, .epsilon = 1e-5}, &geometry));
  ReadLlamaRotary(config, /*usual_theta=*/500000, &geometry, &decoder);
  LlamaTensors has = {.turns_adjacent = true};
  has.attention_bias = has.output_bias = has.feed_forward_bias =
      config->Boolean("use_bias").value_or(false);
  ReadLlamaModel(&family, has, {geometry}, /*tied_by_default=*/true,
                 &description);
  return model;
}

}  // namespace trivium
