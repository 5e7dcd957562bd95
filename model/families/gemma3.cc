#include "model/families/gemma3.h"

#include <cmath>
#include <string>
#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/layer_rotaries.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

void RefuseSoftCap(ConfigReader* config, const char* key) {
  if (const auto cap = config->Find(key); cap.json != nullptr) {
    config->Report(key, cap, "this server supports only null");
  }
}

}  // namespace

FamilyModel LoadGemma3Text(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  model.generation_defaults = {
      {"bos_token_id", 2}, {"eos_token_id", 1}, {"pad_token_id", 0}};
  TransformerDescription& description = model.description;
  const bool both_ways = ReadBothWays(config);
  AttentionGeometry geometry;
  StackDescription& stack =
      (both_ways ? description.encoder : description.decoder)
          .emplace(ReadLlamaConfig(config,
                                   {.activation = "hidden_activation",
                                    .usual_activation = Activation::kGeluTanh,
                                    .head_size = 256,
                                    .kv_heads = 4},
                                   &geometry));
  geometry.scale = static_cast<float>(
      1 / std::sqrt(config->Real("query_pre_attn_scalar", 1e-6, kMaxWidth)
                        .value_or(256)));
  stack.embedding_scale = std::sqrt(static_cast<float>(stack.d_model));
  stack.rotary =
      ReadLayerRotaries(config,
                        {.thetas = {"rope_theta", "rope_local_base_freq"},
                         .usual_thetas = {1e6, 1e4}},
                        geometry.head_size, stack.max_positions);
  const int window =
      config->Integer("sliding_window", 1, kMaxPositions).value_or(4096);
  const int pattern =
      config->Integer("sliding_window_pattern", 1, kMaxLayers).value_or(6);
  const std::vector<bool> slides =
      ReadLayerTypes(config, EachNthIsFull(pattern, stack.layers));
  std::vector<AttentionGeometry> geometries =
      SlidingGeometries(config, geometry, window, slides);
  for (int i = 0; i < stack.layers; ++i) {
    geometries[i].rotary = slides[i] ? kSlidingLayer : kFullLayer;
    if (!both_ways) continue;
    // In both directions, the window extends half as far to either side.
    if (slides[i]) geometries[i].look_back = window / 2;
    geometries[i].look_ahead = slides[i] ? window / 2 : kAllKeys;
  }
  RefuseSoftCap(config, "attn_logit_softcapping");
  RefuseSoftCap(config, "final_logit_softcapping");
  LlamaTensors has = {
      .head_norms = true, .one_plus_weight = true, .norms = kGemmaNorms};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  TensorReader* const tensors = family.OpenTensors("model.");
  if (tensors == nullptr) return model;

  ReadLlamaTensors(tensors, has, geometries, &stack);
  ReadOutputProjection(config, /*tied_by_default=*/true, tensors, &description);
  return model;
}

}  // namespace trivium
