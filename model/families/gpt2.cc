#include "model/families/gpt2.h"

#include <fmt/format.h>

#include "model/families/activation_names.h"
#include "model/families/conv1d.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"

namespace trivium {

FamilyModel LoadGpt2(const nlohmann::json& json, const Weights* weights,
                     Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  const DecoderKeys keys = {.layers = "n_layer",
                            .d_model = "n_embd",
                            .heads = "n_head",
                            .feed_forward = "n_inner",
                            .feed_forward_factor = 4,
                            .positions = "n_positions"};
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.decoder = ReadDecoderConfig(config, keys);
  StackDescription& decoder = *description.decoder;
  model.generation_defaults = EndDefaults(50256, decoder);
  decoder.activation =
      ReadActivation(config, "activation_function", Activation::kGeluTanh);
  decoder.norm_epsilon = static_cast<float>(
      config->Real("layer_norm_epsilon", 0, 1).value_or(1e-5));
  // reorder_and_upcast_attn only changes the order of the same arithmetic, for
  // f16.
  const bool scaled = config->Boolean("scale_attn_weights").value_or(true);
  const bool scaled_by_layer =
      config->Boolean("scale_attn_by_inverse_layer_idx").value_or(false);
  RequireBoolean(config, "add_cross_attention", false);
  TensorReader* const tensors = family.OpenTensors("transformer.");
  if (tensors == nullptr) return model;

  const int d_model = decoder.d_model;
  decoder.embeddings.tokens =
      tensors->Required("wte.weight", {decoder.vocabulary, d_model});
  decoder.embeddings.positions =
      tensors->Required("wpe.weight", {decoder.max_positions, d_model});
  for (int i = 0; i < decoder.layers; ++i) {
    const std::string name = fmt::format("h.{}.", i);
    if (!HasLayer(tensors, name, i, keys.layers, decoder)) return model;
    AttentionGeometry geometry = CausalGeometry(decoder);
    if (!scaled) geometry.scale = 1;
    if (scaled_by_layer) geometry.scale /= static_cast<float>(i + 1);
    TensorMemory* const memory = &description.memory;
    LayerDescription layer;
    layer.self_attention =
        ReadConv1dAttention(tensors, name + "attn", d_model, geometry, memory);
    layer.self_attention_norms.before = tensors->Norm(name + "ln_1", d_model);
    layer.up = ReadConv1d(tensors, name + "mlp.c_fc", decoder.feed_forward,
                          d_model, memory);
    layer.down = ReadConv1d(tensors, name + "mlp.c_proj", d_model,
                            decoder.feed_forward, memory);
    layer.feed_forward_norms.before = tensors->Norm(name + "ln_2", d_model);
    decoder.layer.push_back(layer);
  }
  decoder.final_norm = tensors->Norm("ln_f", d_model);
  ReadOutputProjection(config, /*tied_by_default=*/true, tensors, &description);
  return model;
}

}  // namespace trivium
