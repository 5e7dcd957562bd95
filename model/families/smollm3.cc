#include "model/families/smollm3.h"

#include <fmt/format.h>

#include <vector>

#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// Returns for each layer whether it has rotary positions: 1 or 0 in
// no_rope_layers, whose name says the opposite. By default every fourth has
// none.
std::vector<bool> ReadRotaryLayers(ConfigReader* config, int layers) {
  constexpr char kKey[] = "no_rope_layers";
  const int interval =
      config->Integer("no_rope_layer_interval", 1, kMaxLayers).value_or(4);
  std::vector<bool> rotary(layers);
  for (int i = 0; i < layers; ++i) rotary[i] = (i + 1) % interval != 0;
  const ConfigReader::Layer value = config->Find(kKey);
  if (value.json == nullptr) return rotary;
  const std::vector<int> marks = config->Integers(kKey, 0, 1);
  if (marks.size() == rotary.size()) return {marks.begin(), marks.end()};
  if (marks.empty() && !value.json->empty()) return rotary;  // reported
  config->Report(kKey, value,
                 fmt::format("give 1 (rotary positions) or 0 (none) for each "
                             "of {} layers",
                             layers));
  return rotary;
}

}  // namespace

FamilyModel LoadSmolLm3(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  LlamaFamily family(json, weights, problems, {.kv_heads = 4});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"bos_token_id", 128000},
                                      {"eos_token_id", 128001},
                                      {"pad_token_id", 128004}};
  family.ReadRotary(/*usual_theta=*/2e6);
  const std::vector<bool> rotary =
      ReadRotaryLayers(config, family.decoder.layers);
  const int window = ReadSwitchedWindow(config, /*usual=*/0);
  std::vector<bool> slides(family.decoder.layers);
  for (int i = 0; i < family.decoder.layers; ++i) {
    slides[i] = window > 0 && !rotary[i];
  }
  std::vector<AttentionGeometry> geometries = SlidingGeometries(
      config, family.geometry, window, ReadLayerTypes(config, slides));
  for (int i = 0; i < family.decoder.layers; ++i) {
    if (!rotary[i]) geometries[i].rotary = AttentionGeometry::kNoRotary;
  }
  LlamaTensors has;
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  has.feed_forward_bias = config->Boolean("mlp_bias").value_or(false);
  return family.ReadModel(has, geometries, /*tied_by_default=*/true);
}

}  // namespace trivium
