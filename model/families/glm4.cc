#include "model/families/glm4.h"

#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"

namespace trivium {
namespace {

FamilyModel LoadGlmLike(const nlohmann::json& json, const Weights* weights,
                        const LlamaNorms& norms, Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {{"eos_token_id", {151329, 151336, 151338}},
                               {"pad_token_id", 151329}};
  StackDescription& decoder = description.decoder.emplace(ReadLlamaConfig(
      config, {.head_size = 128, .kv_heads = 2, .epsilon = 1.5625e-7},
      &geometry));
  ReadLlamaRotary(config, {.partial = 0.5}, &geometry, &decoder);
  const LlamaTensors has = {
      .attention_bias = config->Boolean("attention_bias").value_or(true),
      .norms = norms,
      .joined_feed_forward = true,
      .turns_adjacent = true};
  ReadLlamaModel(&family, has, {geometry}, /*tied_by_default=*/false,
                 &description);
  return model;
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
