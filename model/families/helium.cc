#include "model/families/helium.h"

#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadHelium(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  LlamaFamily family(json, weights, problems,
                     {.head_size = 128, .kv_heads = 20, .epsilon = 1e-8});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 3}};
  family.ReadRotary(/*usual_theta=*/1e5);
  const LlamaTensors has = {
      .attention_bias = config->Boolean("attention_bias").value_or(false),
      .feed_forward_bias = config->Boolean("mlp_bias").value_or(false),
      .turns_adjacent = true};
  return family.ReadModel(has, {family.geometry}, /*tied_by_default=*/false);
}

}  // namespace trivium
