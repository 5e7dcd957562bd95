#include "model/families/exaone4.h"

#include <vector>

#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {

FamilyModel LoadExaone4(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  LlamaFamily family(json, weights, problems,
                     {.kv_heads = 32, .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"bos_token_id", 0}, {"eos_token_id", 2}};
  family.ReadRotary(/*usual_theta=*/10000);
  // An explicit null means no windows; a missing key means these.
  int window = 0;
  if (!json.contains("sliding_window")) window = 4096;
  window = config->Integer("sliding_window", 1, kMaxPositions).value_or(window);
  std::vector<bool> slides(family.decoder.layers);
  // Published folders with layer_types have a pattern in letters, too.
  if (window > 0 && config->Find("layer_types").json == nullptr) {
    slides = EachNthIsFull(
        config->Integer("sliding_window_pattern", 1, kMaxLayers).value_or(4),
        family.decoder.layers);
  }
  slides = ReadLayerTypes(config, slides);
  std::vector<AttentionGeometry> geometries =
      SlidingGeometries(config, family.geometry, window, slides);
  for (int i = 0; i < family.decoder.layers; ++i) {
    if (window > 0 && !slides[i]) {
      geometries[i].rotary = AttentionGeometry::kNoRotary;
    }
  }
  const LlamaTensors has = {.head_norms = true, .norms = kOlmoNorms};
  return family.ReadModel(has, geometries, /*tied_by_default=*/false);
}

}  // namespace trivium
