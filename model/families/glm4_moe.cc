#include "model/families/glm4_moe.h"

#include <utility>

#include "model/families/grouped_experts.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"

namespace trivium {

FamilyModel LoadGlm4Moe(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  LlamaFamily family(json, weights, problems, {.kv_heads = 8, .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.ReadRotary({.partial = 0.5});
  const GroupedExperts experts = ReadGroupedExperts(
      config,
      {.counts = {.all = 128, .chosen = 8}, .inner = 1408, .dense_first = 1});
  const LlamaTensors has = {
      .attention_bias = config->Boolean("attention_bias").value_or(false),
      .head_norms = config->Boolean("use_qk_norm").value_or(false)};
  ReadGroupedModel(&family, has, {family.geometry}, experts,
                   &family.description);
  return std::move(family.model);
}

}  // namespace trivium
