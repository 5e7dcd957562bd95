#include "model/families/phi3.h"

#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadPhi3(const nlohmann::json& json, const Weights* weights,
                     Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 32000}, {"pad_token_id", 32000}};
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config, {.epsilon = 1e-5}, &geometry));
  ReadLlamaRotary(config, {.partial = 1}, &geometry, &decoder);
  RequireBoolean(config, "attention_bias", false);
  RequireBoolean(config, "mlp_bias", false);
  const std::vector<AttentionGeometry> geometries =
      SlidingGeometries(config, geometry, decoder.layers);
  const LlamaTensors has = {.joined_attention = true,
                            .joined_feed_forward = true};
  ReadLlamaModel(&family, has, geometries, /*tied_by_default=*/false,
                 &description);
  return model;
}

}  // namespace trivium
