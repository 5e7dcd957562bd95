#include "model/families/stablelm.h"

#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadStableLm(const nlohmann::json& json, const Weights* weights,
                         Problems* problems) {
  LlamaFamily family(
      json, weights, problems,
      {.kv_heads = 32, .epsilon_key = "layer_norm_eps", .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"bos_token_id", 0}, {"eos_token_id", 0}};
  family.ReadRotary({.partial = 0.25});
  const LlamaTensors has = {
      .attention_bias = config->Boolean("use_qkv_bias").value_or(false),
      .query_norm = "q_layernorm",
      .key_norm = "k_layernorm",
      .own_head_norms = config->Boolean("qk_layernorm").value_or(false),
      .norm_kind = NormTensors::Kind::kLayer,
      .norm_bias = true,
      .parallel = config->Boolean("use_parallel_residual").value_or(false)};
  return family.ReadModel(has, {family.geometry}, /*tied_by_default=*/false);
}

}  // namespace trivium
