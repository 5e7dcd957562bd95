#include "model/families/dots1.h"

#include <utility>
#include <vector>

#include "model/families/grouped_experts.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {

FamilyModel LoadDots1(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  LlamaFamily family(json, weights, problems);
  ConfigReader* const config = family.config();
  family.ReadRotary(/*usual_theta=*/10000);
  const int window =
      config->Integer("sliding_window", 1, kMaxPositions).value_or(4096);
  const int first =
      config->Integer("max_window_layers", 0, kMaxPositions).value_or(62);
  std::vector<bool> slides(family.decoder.layers);
  for (int i = 0; i < family.decoder.layers; ++i) slides[i] = i >= first;
  const std::vector<AttentionGeometry> geometries = SlidingGeometries(
      config, family.geometry, window, ReadLayerTypes(config, slides));
  const GroupedExperts experts = ReadGroupedExperts(
      config, {.inner = 1408, .shared = 0, .normalized = false});
  LlamaTensors has = {.head_norms = true};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  ReadGroupedModel(&family, has, geometries, experts, &family.description);
  return std::move(family.model);
}

}  // namespace trivium
