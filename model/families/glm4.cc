#include "model/families/glm4.h"

#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"

namespace trivium {
namespace {

FamilyModel LoadGlmLike(const nlohmann::json& json, const Weights* weights,
                        const LlamaNorms& norms, Problems* problems) {
  LlamaFamily family(json, weights, problems,
                     {.head_size = 128, .kv_heads = 2, .epsilon = 1.5625e-7});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {
      {"eos_token_id", {151329, 151336, 151338}}, {"pad_token_id", 151329}};
  family.ReadRotary({.partial = 0.5});
  const LlamaTensors has = {
      .attention_bias = config->Boolean("attention_bias").value_or(true),
      .norms = norms,
      .joined_feed_forward = true,
      .turns_adjacent = true};
  return family.ReadModel(has, {family.geometry}, /*tied_by_default=*/false);
}

}  // namespace

FamilyModel LoadGlm(const nlohmann::json& json, const Weights* weights,
                    Problems* problems) {
  return LoadGlmLike(json, weights, {}, problems);
}

FamilyModel LoadGlm4(const nlohmann::json& json, const Weights* weights,
                     Problems* problems) {
  return LoadGlmLike(json, weights,
                     {.of_attention = "post_self_attn_layernorm",
                      .of_feed_forward = "post_mlp_layernorm"},
                     problems);
}

}  // namespace trivium
