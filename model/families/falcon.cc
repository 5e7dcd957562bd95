#include "model/families/falcon.h"

#include <fmt/format.h>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/joined_linear.h"
#include "model/families/rotary_config.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

struct FalconConfig {
  DecoderKeys keys = {.feed_forward = "ffn_hidden_size",
                      .feed_forward_factor = 4,
                      .usual_positions = 2048};
  StackDescription decoder;
  AttentionGeometry geometry;
  bool bias = false;
  bool parallel = true;
  std::string attention_norm = "input_layernorm";
  std::string feed_forward_norm = "input_layernorm";
};

FalconConfig ReadFalconConfig(ConfigReader* config) {
  FalconConfig result;
  StackDescription& decoder = result.decoder;
  decoder = ReadDecoderConfig(config, result.keys);
  decoder.positions = PositionEncoding::kNone;
  decoder.activation = ReadActivation(config, "activation", Activation::kGelu);
  decoder.norm_epsilon = static_cast<float>(
      config->Real("layer_norm_epsilon", 0, 1).value_or(1e-5));
  result.bias = config->Boolean("bias").value_or(false);
  AttentionGeometry& geometry = result.geometry;
  geometry = CausalGeometry(decoder);
  const bool is_new =
      config->Boolean("new_decoder_architecture").value_or(false);
  // Old models have one head of keys, or as many as of queries.
  constexpr char kKvHeads[] = "num_kv_heads";
  const int kv_heads =
      config->Integer(kKvHeads, 1, kMaxWidth).value_or(decoder.heads);
  if (is_new) {
    geometry.kv_heads = kv_heads;
    if (decoder.heads % kv_heads != 0) {
      config->Report(kKvHeads, config->Find(kKvHeads),
                     fmt::format("it must divide {}, {}", result.keys.heads,
                                 decoder.heads));
    }
  } else if (config->Boolean("multi_query").value_or(true)) {
    geometry.kv_heads = 1;
  }
  result.parallel = config->Boolean("parallel_attn").value_or(true);
  const int norms = config->Integer("num_ln_in_parallel_attn", 1, 1 + is_new)
                        .value_or(1 + is_new);
  if (!result.parallel) {
    RequireBoolean(config, "new_decoder_architecture", false);
    result.feed_forward_norm = "post_attention_layernorm";
  } else if (norms == 2) {
    result.attention_norm = "ln_attn";
    result.feed_forward_norm = "ln_mlp";
  }
  if (config->Boolean("alibi").value_or(false)) {
    RelativeAttentionDescription& alibi = decoder.relative_attention.emplace();
    alibi.slopes = AlibiSlopes(decoder.heads, /*scale=*/1);
    alibi.bf16_scale = geometry.scale;
  } else {
    geometry.rotary = 0;
    decoder.rotary = {
        ReadRotary(config, {.head_size = geometry.head_size,
                            .max_positions = decoder.max_positions})};
  }
  return result;
}

}  // namespace

FamilyModel LoadFalcon(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  const FalconConfig falcon = ReadFalconConfig(config);
  StackDescription& decoder = description.decoder.emplace(falcon.decoder);
  model.generation_defaults = EndDefaults(11, decoder);
  TensorReader* const tensors = family.OpenTensors("transformer.");
  if (tensors == nullptr) return model;

  const int d_model = decoder.d_model;
  decoder.embeddings.tokens = tensors->Required("word_embeddings.weight",
                                                {decoder.vocabulary, d_model});
  for (int i = 0; i < decoder.layers; ++i) {
    const std::string name = fmt::format("h.{}.", i);
    if (!HasLayer(tensors, name, i, falcon.keys.layers, decoder)) return model;
    LayerDescription layer;
    layer.self_attention =
        ReadJoinedAttention(tensors,
                            {.joined = name + "self_attention.query_key_value",
                             .output = name + "self_attention.dense",
                             .groups = falcon.geometry.kv_heads,
                             .bias = falcon.bias},
                            falcon.geometry, d_model, &description.memory);
    ReadFeedForward(tensors, name + "mlp.dense_h_to_4h",
                    name + "mlp.dense_4h_to_h", falcon.bias, decoder, &layer);
    layer.self_attention_norms.before =
        tensors->Norm(name + falcon.attention_norm, d_model);
    layer.feed_forward_norms.before =
        falcon.feed_forward_norm == falcon.attention_norm
            ? layer.self_attention_norms.before
            : tensors->Norm(name + falcon.feed_forward_norm, d_model);
    layer.parallel = falcon.parallel;
    decoder.layer.push_back(layer);
  }
  decoder.final_norm = tensors->Norm("ln_f", d_model);
  ReadOutputProjection(config, /*tied_by_default=*/true, tensors, &description);
  return model;
}

}  // namespace trivium
