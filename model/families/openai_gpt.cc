#include "model/families/openai_gpt.h"

#include <fmt/format.h>

#include "model/families/conv1d.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"

namespace trivium {
namespace {

// This family has its own names: its "gelu" is the tanh approximation.
Activation ReadAfn(ConfigReader* config) {
  const ConfigReader::Layer value = config->Find("afn");
  if (value.json == nullptr || *value.json == "gelu") {
    return Activation::kGeluTanh;
  }
  if (*value.json == "relu") return Activation::kRelu;
  if (*value.json != "silu" && *value.json != "swish") {
    config->Report("afn", value, "give one of gelu, relu, silu, swish");
  }
  return Activation::kSwish;
}

}  // namespace

FamilyModel LoadOpenAiGpt(const nlohmann::json& json, const Weights* weights,
                          Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  const DecoderKeys keys = {.layers = "n_layer",
                            .d_model = "n_embd",
                            .heads = "n_head",
                            .feed_forward = "",
                            .feed_forward_factor = 4,
                            .positions = "n_positions"};
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.decoder = ReadDecoderConfig(config, keys);
  StackDescription& decoder = *description.decoder;
  decoder.activation = ReadAfn(config);
  decoder.norm_epsilon = static_cast<float>(
      config->Real("layer_norm_epsilon", 0, 1).value_or(1e-5));
  TensorReader* const tensors = family.OpenTensors("transformer.");
  if (tensors == nullptr) return model;

  const int d_model = decoder.d_model;
  decoder.embeddings.tokens =
      tensors->Required("tokens_embed.weight", {decoder.vocabulary, d_model});
  decoder.embeddings.positions = tensors->Required(
      "positions_embed.weight", {decoder.max_positions, d_model});
  for (int i = 0; i < decoder.layers; ++i) {
    const std::string name = fmt::format("h.{}.", i);
    if (!HasLayer(tensors, name, i, keys.layers, decoder)) return model;
    TensorMemory* const memory = &description.memory;
    LayerDescription layer;
    layer.self_attention = ReadConv1dAttention(tensors, name + "attn", d_model,
                                               CausalGeometry(decoder), memory);
    layer.self_attention_norms.after = tensors->Norm(name + "ln_1", d_model);
    layer.up = ReadConv1d(tensors, name + "mlp.c_fc", decoder.feed_forward,
                          d_model, memory);
    layer.down = ReadConv1d(tensors, name + "mlp.c_proj", d_model,
                            decoder.feed_forward, memory);
    layer.feed_forward_norms.after = tensors->Norm(name + "ln_2", d_model);
    decoder.layer.push_back(layer);
  }
  ReadOutputProjection(config, /*tied_by_default=*/true, tensors, &description);
  return model;
}

}  // namespace trivium
