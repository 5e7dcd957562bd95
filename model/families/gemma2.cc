#include "model/families/gemma2.h"

#include <cmath>
#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// A null means no cap, a missing key means `usual`.
float ReadSoftCap(const nlohmann::json& json, const char* key, double usual,
                  ConfigReader* config) {
  const double none = json.contains(key) ? 0 : usual;
  return static_cast<float>(config->Real(key, 1e-3, 1e9).value_or(none));
}

}  // namespace

FamilyModel LoadGemma2(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {
      {"bos_token_id", 2}, {"eos_token_id", 1}, {"pad_token_id", 0}};
  StackDescription& decoder = description.decoder.emplace(
      ReadLlamaConfig(config,
                      {.activation = "hidden_activation",
                       .usual_activation = Activation::kGeluTanh,
                       .head_size = 256,
                       .kv_heads = 4},
                      &geometry));
  geometry.scale = static_cast<float>(
      1 / std::sqrt(config->Real("query_pre_attn_scalar", 1e-6, kMaxWidth)
                        .value_or(256)));
  geometry.soft_cap = ReadSoftCap(json, "attn_logit_softcapping", 50, config);
  description.logit_soft_cap =
      ReadSoftCap(json, "final_logit_softcapping", 30, config);
  decoder.embedding_scale = std::sqrt(static_cast<float>(decoder.d_model));
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &decoder);
  RequireBoolean(config, "use_bidirectional_attention", false);
  const int window =
      config->Integer("sliding_window", 1, kMaxPositions).value_or(4096);
  const std::vector<AttentionGeometry> geometries = SlidingGeometries(
      config, geometry, window,
      ReadLayerTypes(config, EachNthIsFull(2, decoder.layers)));
  LlamaTensors has = {.one_plus_weight = true, .norms = kGemmaNorms};
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  TensorReader* const tensors = family.OpenTensors("model.");
  if (tensors == nullptr) return model;

  ReadLlamaTensors(tensors, has, geometries, &decoder);
  ReadOutputProjection(config, /*tied_by_default=*/true, tensors, &description);
  return model;
}

}  // namespace trivium
