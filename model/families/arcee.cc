#include "model/families/arcee.h"

#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadArcee(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  LlamaFamily family(
      json, weights, problems,
      {.usual_activation = Activation::kSquaredRelu, .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"bos_token_id", 128000},
                                      {"eos_token_id", 128001}};
  family.ReadRotary(/*usual_theta=*/10000);
  LlamaTensors has = {.gated = false};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  has.feed_forward_bias = config->Boolean("mlp_bias").value_or(false);
  return family.ReadModel(has, {family.geometry}, /*tied_by_default=*/false);
}

}  // namespace trivium
