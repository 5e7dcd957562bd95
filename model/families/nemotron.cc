#include "model/families/nemotron.h"

#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadNemotron(const nlohmann::json& json, const Weights* weights,
                         Problems* problems) {
  LlamaFamily family(json, weights, problems,
                     {.usual_activation = Activation::kSquaredRelu,
                      .epsilon_key = "norm_eps",
                      .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"bos_token_id", 2}, {"eos_token_id", 3}};
  family.ReadRotary({.partial = 0.5});
  LlamaTensors has = {.one_plus_weight = true,
                      .norm_kind = NormTensors::Kind::kLayer,
                      .norm_bias = true,
                      .gated = false};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  has.feed_forward_bias = config->Boolean("mlp_bias").value_or(false);
  return family.ReadModel(has, {family.geometry}, /*tied_by_default=*/false);
}

}  // namespace trivium
