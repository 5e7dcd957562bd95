#include "model/families/phi3.h"

#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadPhi3(const nlohmann::json& json, const Weights* weights,
                     Problems* problems) {
  LlamaFamily family(json, weights, problems, {.epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 32000}, {"pad_token_id", 32000}};
  family.ReadRotary({.partial = 1});
  RequireBoolean(config, "attention_bias", false);
  RequireBoolean(config, "mlp_bias", false);
  const std::vector<AttentionGeometry> geometries =
      SlidingGeometries(config, family.geometry, family.decoder.layers);
  const LlamaTensors has = {.joined_attention = true,
                            .joined_feed_forward = true};
  return family.ReadModel(has, geometries, /*tied_by_default=*/false);
}

}  // namespace trivium
