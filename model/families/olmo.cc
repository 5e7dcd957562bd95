#include "model/families/olmo.h"

#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/layer_rotaries.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

FamilyModel LoadOlmo(const nlohmann::json& json, const Weights* weights,
                     bool windows, Problems* problems) {
  LlamaFamily family(json, weights, problems, {.epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"eos_token_id", 50279},
                                      {"pad_token_id", 1}};
  std::vector<AttentionGeometry> geometries;
  if (windows) {
    family.decoder.rotary = ReadLayerRotaries(
        config,
        {.thetas = {"rope_theta", "rope_theta"}, .usual_thetas = {5e5, 5e5}},
        family.geometry.head_size, family.decoder.max_positions);
    const int window =
        config->Integer("sliding_window", 1, kMaxPositions).value_or(4096);
    const std::vector<bool> slides =
        ReadLayerTypes(config, EachNthIsFull(4, family.decoder.layers));
    geometries = SlidingGeometries(config, family.geometry, window, slides);
    for (int i = 0; i < family.decoder.layers; ++i) {
      geometries[i].rotary = slides[i] ? kSlidingLayer : kFullLayer;
    }
  } else {
    family.ReadRotary(/*usual_theta=*/10000);
    geometries.assign(family.decoder.layers, family.geometry);
  }
  LlamaTensors has = {
      .head_norms = true, .wide_head_norms = true, .norms = kOlmoNorms};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  return family.ReadModel(has, geometries, /*tied_by_default=*/false);
}

}  // namespace

FamilyModel LoadOlmo1(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  // The norms' epsilon is always this.
  LlamaFamily family(json, weights, problems,
                     {.epsilon_key = "", .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"eos_token_id", 50279},
                                      {"pad_token_id", 1}};
  family.ReadRotary(/*usual_theta=*/10000);
  family.geometry.clip = ReadClip(config);
  LlamaTensors has = {.bare_norms = true,
                      .norm_kind = NormTensors::Kind::kLayer};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  return family.ReadModel(has, {family.geometry}, /*tied_by_default=*/false);
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
