#include "model/families/gpt_neox.h"

#include <fmt/format.h>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/joined_linear.h"
#include "model/families/rotary_config.h"

namespace trivium {

FamilyModel LoadGptNeoX(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  model.generation_defaults = {{"bos_token_id", 0}, {"eos_token_id", 2}};
  const DecoderKeys keys;
  StackDescription& decoder =
      description.decoder.emplace(ReadDecoderConfig(config, keys));
  decoder.positions = PositionEncoding::kNone;
  decoder.activation = ReadActivation(config, "hidden_act", Activation::kGelu);
  decoder.norm_epsilon =
      static_cast<float>(config->Real("layer_norm_eps", 0, 1).value_or(1e-5));
  AttentionGeometry geometry = CausalGeometry(decoder);
  geometry.rotary = 0;
  decoder.rotary = {ReadRotary(
      config,
      {.head_size = geometry.head_size,
       .max_positions = decoder.max_positions,
       .theta = config->Real("rotary_emb_base", 1, 1e15).value_or(10000),
       .partial = config->Real("rotary_pct", 1e-3, 1).value_or(0.25)})};
  const bool parallel = config->Boolean("use_parallel_residual").value_or(true);
  const bool bias = config->Boolean("attention_bias").value_or(true);
  TensorReader* const tensors = family.OpenTensors("gpt_neox.");
  if (tensors == nullptr) return model;

  const int d_model = decoder.d_model;
  decoder.embeddings.tokens =
      tensors->Required("embed_in.weight", {decoder.vocabulary, d_model});
  for (int i = 0; i < decoder.layers; ++i) {
    const std::string name = fmt::format("layers.{}.", i);
    if (!HasLayer(tensors, name, i, keys.layers, decoder)) return model;
    LayerDescription layer;
    layer.self_attention =
        ReadJoinedAttention(tensors,
                            {.joined = name + "attention.query_key_value",
                             .output = name + "attention.dense",
                             .groups = decoder.heads,
                             .bias = bias},
                            geometry, d_model, &description.memory);
    layer.self_attention_norms.before =
        tensors->Norm(name + "input_layernorm", d_model);
    ReadFeedForward(tensors, name + "mlp.dense_h_to_4h",
                    name + "mlp.dense_4h_to_h", /*bias=*/true, decoder, &layer);
    layer.feed_forward_norms.before =
        tensors->Norm(name + "post_attention_layernorm", d_model);
    layer.parallel = parallel;
    decoder.layer.push_back(layer);
  }
  decoder.final_norm = tensors->Norm("final_layer_norm", d_model);
  ReadOutputProjection(config, /*tied_by_default=*/false, tensors, &description,
                       "embed_out");
  return model;
}

}  // namespace trivium
