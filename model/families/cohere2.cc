#include "model/families/cohere2.h"

#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {

namespace {

// The keys that both versions share.
const LlamaKeys kCohereKeys = {.epsilon_key = "layer_norm_eps",
                               .epsilon = 1e-5};

LlamaTensors ReadCohereOptions(LlamaFamily* family) {
  ConfigReader* const config = family->config();
  family->model.generation_defaults = {
      {"bos_token_id", 5}, {"eos_token_id", 255001}, {"pad_token_id", 0}};
  family->description.logit_factor = static_cast<float>(
      config->Real("logit_scale", 1e-9, 1e9).value_or(0.0625));
  LlamaTensors has = {.norm_kind = NormTensors::Kind::kLayer,
                      .turns_adjacent = true,
                      .parallel = true};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  return has;
}

}  // namespace

FamilyModel LoadCohere(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  LlamaFamily family(json, weights, problems, kCohereKeys);
  ConfigReader* const config = family.config();
  family.ReadRotary(/*usual_theta=*/5e5);
  LlamaTensors has = ReadCohereOptions(&family);
  has.own_head_norms = config->Boolean("use_qk_norm").value_or(false);
  return family.ReadModel(has, {family.geometry}, /*tied_by_default=*/true);
}

FamilyModel LoadCohere2(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  LlamaFamily family(json, weights, problems, kCohereKeys);
  ConfigReader* const config = family.config();
  family.ReadRotary(/*usual_theta=*/10000);
  RequireBoolean(config, "use_qk_norm", false);
  const int window =
      config->Integer("sliding_window", 1, kMaxPositions).value_or(4096);
  const int pattern =
      config->Integer("sliding_window_pattern", 1, kMaxLayers).value_or(4);
  const std::vector<bool> slides =
      ReadLayerTypes(config, EachNthIsFull(pattern, family.decoder.layers));
  std::vector<AttentionGeometry> geometries =
      SlidingGeometries(config, family.geometry, window, slides);
  for (int i = 0; i < family.decoder.layers; ++i) {
    if (!slides[i]) geometries[i].rotary = AttentionGeometry::kNoRotary;
  }
  return family.ReadModel(ReadCohereOptions(&family), geometries,
                          /*tied_by_default=*/true);
}

}  // namespace trivium
