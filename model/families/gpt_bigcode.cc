#include "model/families/gpt_bigcode.h"

#include <fmt/format.h>

#include <string>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/joined_linear.h"

namespace trivium {

FamilyModel LoadGptBigCode(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  const DecoderKeys keys = {.layers = "n_layer",
                            .d_model = "n_embd",
                            .heads = "n_head",
                            .feed_forward = "n_inner",
                            .feed_forward_factor = 4,
                            .positions = "n_positions"};
  StackDescription& decoder =
      description.decoder.emplace(ReadDecoderConfig(config, keys));
  model.generation_defaults = EndDefaults(50256, decoder);
  decoder.activation =
      ReadActivation(config, "activation_function", Activation::kGeluTanh);
  decoder.norm_epsilon = static_cast<float>(
      config->Real("layer_norm_epsilon", 0, 1).value_or(1e-5));
  RequireBoolean(config, "add_cross_attention", false);
  const bool shared = config->Boolean("multi_query").value_or(true);
  AttentionGeometry geometry = CausalGeometry(decoder);
  if (shared) geometry.kv_heads = 1;
  if (!config->Boolean("scale_attn_weights").value_or(true)) geometry.scale = 1;
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
    LayerDescription layer;
    layer.self_attention =
        ReadJoinedAttention(tensors,
                            {.joined = name + "attn.c_attn",
                             .output = name + "attn.c_proj",
                             .groups = shared ? 1 : decoder.heads,
                             .bias = true},
                            geometry, d_model, &description.memory);
    layer.self_attention_norms.before = tensors->Norm(name + "ln_1", d_model);
    ReadFeedForward(tensors, name + "mlp.c_fc", name + "mlp.c_proj",
                    /*bias=*/true, decoder, &layer);
    layer.feed_forward_norms.before = tensors->Norm(name + "ln_2", d_model);
    decoder.layer.push_back(layer);
  }
  decoder.final_norm = tensors->Norm("ln_f", d_model);
  ReadOutputProjection(config, /*tied_by_default=*/true, tensors, &description);
  return model;
}

}  // namespace trivium
