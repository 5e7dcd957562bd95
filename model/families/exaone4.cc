#include "model/families/exaone4.h"

#include <vector>

#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {

FamilyModel LoadExaone4(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {{"bos_token_id", 0}, {"eos_token_id", 2}};
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config, {.kv_heads = 32, .epsilon = 1e-5}, &geometry));
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &decoder);
  // An explicit null means no windows; a missing key means these.
  int window = 0;
  if (!json.contains("sliding_window")) window = 4096;
  window = config->Integer("sliding_window", 1, kMaxPositions).value_or(window);
  std::vector<bool> slides(decoder.layers);
  // Published folders with layer_types have a pattern in letters, too.
  if (window > 0 && config->Find("layer_types").json == nullptr) {
    slides = EachNthIsFull(
        config->Integer("sliding_window_pattern", 1, kMaxLayers).value_or(4),
        decoder.layers);
  }
  slides = ReadLayerTypes(config, slides);
  std::vector<AttentionGeometry> geometries =
      SlidingGeometries(config, geometry, window, slides);
  for (int i = 0; i < decoder.layers; ++i) {
    if (window > 0 && !slides[i]) {
      geometries[i].rotary = AttentionGeometry::kNoRotary;
    }
  }
  const LlamaTensors has = {.head_norms = true, .norms = kOlmoNorms};
  ReadLlamaModel(&family, has, geometries, /*tied_by_default=*/false,
                 &description);
  return model;
}

}  // namespace trivium
