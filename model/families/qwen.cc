#include "model/families/qwen.h"

#include <vector>

#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// Layers from max_window_layers on have a window if it is switched on.
std::vector<AttentionGeometry> ReadGeometries(ConfigReader* config,
                                              const AttentionGeometry& geometry,
                                              int layers) {
  const int window = ReadSwitchedWindow(config, /*usual=*/4096);
  const int first =
      config->Integer("max_window_layers", 0, kMaxPositions).value_or(28);
  std::vector<bool> slides(layers);
  for (int i = 0; i < layers; ++i) slides[i] = window > 0 && i >= first;
  return SlidingGeometries(config, geometry, window,
                           ReadLayerTypes(config, slides));
}

FamilyModel LoadQwen(const nlohmann::json& json, const Weights* weights,
                     LlamaKeys keys, const RotaryDefaults& rotary, bool qwen3,
                     Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  const bool both_ways = ReadBothWays(config);
  keys.both_ways = true;
  StackDescription& stack =
      (both_ways ? description.encoder : description.decoder)
          .emplace(ReadLlamaConfig(config, keys, &geometry));
  if (both_ways) geometry.look_ahead = kAllKeys;
  ReadLlamaRotary(config, rotary, &geometry, &stack);
  const std::vector<AttentionGeometry> geometries =
      ReadGeometries(config, geometry, stack.layers);
  if (both_ways) {
    for (const AttentionGeometry& layer : geometries) {
      if (layer.look_back == kAllKeys) continue;
      config->Report("sliding_window", config->Find("sliding_window"),
                     "with attention both ways this server supports no "
                     "windows in this family");
      break;
    }
  }
  LlamaTensors has = {.attention_bias = true};
  if (qwen3) {
    has.head_norms = true;
    has.attention_bias = has.output_bias =
        config->Boolean("attention_bias").value_or(false);
  }
  ReadLlamaModel(&family, has, geometries, /*tied_by_default=*/false,
                 &description);
  return model;
}

}  // namespace

FamilyModel LoadQwen2(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  return LoadQwen(json, weights, {}, {}, /*qwen3=*/false, problems);
}

FamilyModel LoadQwen3(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  return LoadQwen(json, weights, {.head_size = 128}, {}, /*qwen3=*/true,
                  problems);
}

FamilyModel LoadQwen2VlText(const nlohmann::json& json, const Weights* weights,
                            Problems* problems) {
  // "mrope" gives pictures positions of three numbers; a text's tokens have the
  // same one three times.
  nlohmann::json text = json;
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    const auto rope = text.find(name);
    if (rope == text.end() || !rope->is_object()) continue;
    for (const char* key : {"type", "rope_type"}) {
      const auto type = rope->find(key);
      if (type != rope->end() && *type == "mrope") *type = "default";
    }
  }
  return LoadQwen(text, weights, {.kv_heads = 8, .epsilon = 1e-5},
                  {.theta = 1e6, .keys = {"mrope_section"}}, /*qwen3=*/false,
                  problems);
}

FamilyModel LoadQwen3VlText(const nlohmann::json& json, const Weights* weights,
                            Problems* problems) {
  // A text's tokens have the same position in all three sections.
  return LoadQwen(
      json, weights, {.head_size = 128, .kv_heads = 32},
      {.theta = 5e5, .keys = {"mrope_section", "mrope_interleaved"}},
      /*qwen3=*/true, problems);
}

}  // namespace trivium
