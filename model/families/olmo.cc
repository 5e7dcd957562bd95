#include "model/families/olmo.h"

#include <vector>

#include "model/families/family_reader.h"
#include "model/families/layer_rotaries.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

FamilyModel LoadOlmo(const nlohmann::json& json, const Weights* weights,
                     bool windows, Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  model.generation_defaults = {{"eos_token_id", 50279}, {"pad_token_id", 1}};
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config, {.epsilon = 1e-5}, &geometry));
  std::vector<AttentionGeometry> geometries;
  if (windows) {
    decoder.rotary = ReadLayerRotaries(
        config,
        {.thetas = {"rope_theta", "rope_theta"}, .usual_thetas = {5e5, 5e5}},
        geometry.head_size, decoder.max_positions);
    const int window =
        config->Integer("sliding_window", 1, kMaxPositions).value_or(4096);
    const std::vector<bool> slides =
        ReadLayerTypes(config, EachNthIsFull(4, decoder.layers));
    geometries = SlidingGeometries(config, geometry, window, slides);
    for (int i = 0; i < decoder.layers; ++i) {
      geometries[i].rotary = slides[i] ? kSlidingLayer : kFullLayer;
    }
  } else {
    ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &decoder);
    geometries.assign(decoder.layers, geometry);
  }
  LlamaTensors has = {
      .head_norms = true, .wide_head_norms = true, .norms = kOlmoNorms};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  ReadLlamaModel(&family, has, geometries, /*tied_by_default=*/false,
                 &description);
  return model;
}

}  // namespace

FamilyModel LoadOlmo1(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  model.generation_defaults = {{"eos_token_id", 50279}, {"pad_token_id", 1}};
  AttentionGeometry geometry;
  // The norms' epsilon is always this.
  StackDescription& decoder = model.description.decoder.emplace(
      ReadLlamaConfig(config, {.epsilon_key = "", .epsilon = 1e-5}, &geometry));
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &decoder);
  RefuseClippedAttention(config);
  LlamaTensors has = {.bare_norms = true,
                      .norm_kind = NormTensors::Kind::kLayer};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  ReadLlamaModel(&family, has, {geometry}, /*tied_by_default=*/false,
                 &model.description);
  return model;
}

FamilyModel LoadOlmo2(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  return LoadOlmo(json, weights, /*windows=*/false, problems);
}

FamilyModel LoadOlmo3(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  return LoadOlmo(json, weights, /*windows=*/true, problems);
}

}  // namespace trivium
