#include "model/families/cohere2.h"

#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {

namespace {

// Reads what both have, but for rotary positions.
StackDescription ReadCohereConfig(ConfigReader* config,
                                  AttentionGeometry* geometry) {
  return ReadLlamaConfig(
      config, {.epsilon_key = "layer_norm_eps", .epsilon = 1e-5}, geometry);
}

float ReadLogitScale(ConfigReader* config) {
  return static_cast<float>(
      config->Real("logit_scale", 1e-9, 1e9).value_or(0.0625));
}

LlamaTensors ReadCohereOptions(ConfigReader* config) {
  LlamaTensors has = {.norm_kind = NormTensors::Kind::kLayer,
                      .turns_adjacent = true,
                      .parallel = true};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  return has;
}

nlohmann::json CohereDefaults() {
  return {{"bos_token_id", 5}, {"eos_token_id", 255001}, {"pad_token_id", 0}};
}

}  // namespace

FamilyModel LoadCohere(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = CohereDefaults();
  StackDescription& decoder =
      description.decoder.emplace(ReadCohereConfig(config, &geometry));
  ReadLlamaRotary(config, /*usual_theta=*/5e5, &geometry, &decoder);
  description.logit_factor = ReadLogitScale(config);
  LlamaTensors has = ReadCohereOptions(config);
  has.own_head_norms = config->Boolean("use_qk_norm").value_or(false);
  ReadLlamaModel(&family, has, {geometry}, /*tied_by_default=*/true,
                 &description);
  return model;
}

FamilyModel LoadCohere2(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = CohereDefaults();
  StackDescription& decoder =
      description.decoder.emplace(ReadCohereConfig(config, &geometry));
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &decoder);
  description.logit_factor = ReadLogitScale(config);
  RequireBoolean(config, "use_qk_norm", false);
  const int window =
      config->Integer("sliding_window", 1, kMaxPositions).value_or(4096);
  const int pattern =
      config->Integer("sliding_window_pattern", 1, kMaxLayers).value_or(4);
  const std::vector<bool> slides =
      ReadLayerTypes(config, EachNthIsFull(pattern, decoder.layers));
  std::vector<AttentionGeometry> geometries =
      SlidingGeometries(config, geometry, window, slides);
  for (int i = 0; i < decoder.layers; ++i) {
    if (!slides[i]) geometries[i].rotary = AttentionGeometry::kNoRotary;
  }
  ReadLlamaModel(&family, ReadCohereOptions(config), geometries,
                 /*tied_by_default=*/true, &description);
  return model;
}

}  // namespace trivium
