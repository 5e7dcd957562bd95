#include "model/families/gemma.h"

#include <cmath>
#include <utility>
#include <vector>

#include "model/families/activation_names.h"
#include "model/families/family_reader.h"
#include "model/families/layer_rotaries.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

nlohmann::json GenerationDefaults() {
  return {{"bos_token_id", 2}, {"eos_token_id", 1}, {"pad_token_id", 0}};
}

// Reads what both have, but for rotary positions, windows and soft caps.
StackDescription ReadGemmaConfig(ConfigReader* config, bool both_ways,
                                 AttentionGeometry* geometry) {
  StackDescription stack =
      ReadLlamaConfig(config,
                      {.activation = "hidden_activation",
                       .usual_activation = Activation::kGeluTanh,
                       .head_size = 256,
                       .kv_heads = 4,
                       .both_ways = both_ways},
                      geometry);
  geometry->scale = static_cast<float>(
      1 / std::sqrt(config->Real("query_pre_attn_scalar", 1e-6, kMaxWidth)
                        .value_or(256)));
  stack.embedding_scale = std::sqrt(static_cast<float>(stack.d_model));
  return stack;
}

// A null means no cap, a missing key means `usual`; 0: none.
float ReadSoftCap(const nlohmann::json& json, const char* key, double usual,
                  ConfigReader* config) {
  const double none = json.contains(key) ? 0 : usual;
  return static_cast<float>(config->Real(key, 1e-3, 1e9).value_or(none));
}

int ReadWindow(ConfigReader* config) {
  return config->Integer("sliding_window", 1, kMaxPositions).value_or(4096);
}

LlamaTensors ReadGemmaOptions(ConfigReader* config) {
  LlamaTensors has = {.one_plus_weight = true, .norms = kGemmaNorms};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  return has;
}

// Reads the tensors of a model that is one stack.
FamilyModel ReadGemmaModel(GemmaStack gemma, bool encodes,
                           FamilyReader* family) {
  FamilyModel model;
  model.generation_defaults = GenerationDefaults();
  TransformerDescription& description = model.description;
  (encodes ? description.encoder : description.decoder) =
      std::move(gemma.stack);
  description.logit_soft_cap = gemma.logit_soft_cap;
  ReadLlamaModel(family, gemma.has, gemma.geometries, /*tied_by_default=*/true,
                 &description);
  return model;
}

}  // namespace

FamilyModel LoadGemma(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  LlamaFamily family(json, weights, problems,
                     {.activation = "", .head_size = 256, .kv_heads = 16});
  ConfigReader* const config = family.config();
  family.model.generation_defaults = GenerationDefaults();
  // Published folders say "gelu" and mean its approximation.
  family.decoder.activation =
      ReadActivation(config, "hidden_act", Activation::kGelu);
  if (family.decoder.activation == Activation::kGelu) {
    family.decoder.activation = Activation::kGeluTanh;
  }
  family.decoder.embedding_scale =
      std::sqrt(static_cast<float>(family.decoder.d_model));
  family.ReadRotary(/*usual_theta=*/10000);
  LlamaTensors has = ReadGemmaOptions(config);
  has.norms = {};
  return family.ReadModel(has, {family.geometry}, /*tied_by_default=*/true);
}

GemmaStack ReadGemma2Stack(const nlohmann::json& json, bool both_ways,
                           ConfigReader* config) {
  GemmaStack gemma;
  AttentionGeometry geometry;
  StackDescription& stack = gemma.stack =
      ReadGemmaConfig(config, both_ways, &geometry);
  geometry.soft_cap = ReadSoftCap(json, "attn_logit_softcapping", 50, config);
  gemma.logit_soft_cap =
      ReadSoftCap(json, "final_logit_softcapping", 30, config);
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &stack);
  const int window = gemma.window = ReadWindow(config);
  const std::vector<bool> slides =
      ReadLayerTypes(config, EachNthIsFull(2, stack.layers));
  gemma.geometries = SlidingGeometries(config, geometry, window, slides);
  for (int i = 0; both_ways && i < stack.layers; ++i) {
    AttentionGeometry& one = gemma.geometries[i];
    one.look_ahead = slides[i] ? window : kAllKeys;
    if (slides[i]) one.look_back = window;
  }
  gemma.has = ReadGemmaOptions(config);
  return gemma;
}

FamilyModel LoadGemma2(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  FamilyReader family(json, weights, problems);
  return ReadGemmaModel(
      ReadGemma2Stack(json, /*both_ways=*/false, family.config()),
      /*encodes=*/false, &family);
}

GemmaStack ReadGemma3Stack(const nlohmann::json& json, bool both_ways,
                           ConfigReader* config) {
  GemmaStack gemma;
  AttentionGeometry geometry;
  StackDescription& stack = gemma.stack =
      ReadGemmaConfig(config, /*both_ways=*/true, &geometry);
  gemma.logit_soft_cap =
      ReadSoftCap(json, "final_logit_softcapping", 0, config);
  stack.rotary =
      ReadLayerRotaries(config,
                        {.thetas = {"rope_theta", "rope_local_base_freq"},
                         .usual_thetas = {1e6, 1e4}},
                        geometry.head_size, stack.max_positions);
  const int window = gemma.window = ReadWindow(config);
  const int pattern =
      config->Integer("sliding_window_pattern", 1, kMaxLayers).value_or(6);
  const std::vector<bool> slides =
      ReadLayerTypes(config, EachNthIsFull(pattern, stack.layers));
  gemma.geometries = SlidingGeometries(config, geometry, window, slides);
  for (int i = 0; i < stack.layers; ++i) {
    AttentionGeometry& one = gemma.geometries[i];
    one.rotary = slides[i] ? kSlidingLayer : kFullLayer;
    if (!both_ways) continue;
    if (slides[i]) one.look_back = window / 2;
    one.look_ahead = slides[i] ? window / 2 : kAllKeys;
  }
  gemma.has = ReadGemmaOptions(config);
  gemma.has.head_norms = true;
  return gemma;
}

FamilyModel LoadGemma3Text(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  FamilyReader family(json, weights, problems);
  const bool both_ways = ReadBothWays(family.config());
  return ReadGemmaModel(ReadGemma3Stack(json, both_ways, family.config()),
                        /*encodes=*/both_ways, &family);
}

}  // namespace trivium
