#include "model/families/bloom.h"

#include <fmt/format.h>

#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/joined_linear.h"
#include "model/families/sizes.h"

namespace trivium {

FamilyModel LoadBloom(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  model.generation_defaults = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  // Texts may have any length; 2,048 is what the published models were trained
  // with.
  const DecoderKeys keys = {
      .layers = "n_layer",
      .d_model =
          config->Find("n_embed").json != nullptr ? "n_embed" : "hidden_size",
      .heads = config->Find("n_head").json != nullptr ? "n_head"
                                                      : "num_attention_heads",
      .feed_forward = "",
      .feed_forward_factor = 4,
      .positions = "seq_length",
      .usual_positions = 2048};
  StackDescription& decoder =
      description.decoder.emplace(ReadDecoderConfig(config, keys));
  decoder.positions = PositionEncoding::kNone;
  decoder.activation = Activation::kGeluTanh;
  decoder.norm_epsilon = static_cast<float>(
      config->Real("layer_norm_epsilon", 0, 1).value_or(1e-5));
  RequireBoolean(config, "apply_residual_connection_post_layernorm", false);
  // The split of the products in training; their sums are the same.
  config->Integer("pretraining_tp", 1, kMaxWidth);
  decoder.relative_attention.emplace().slopes =
      AlibiSlopes(decoder.heads, /*scale=*/1);
  TensorReader* const tensors = family.OpenTensors("transformer.");
  if (tensors == nullptr) return model;

  const int d_model = decoder.d_model;
  decoder.embeddings.tokens = tensors->Required("word_embeddings.weight",
                                                {decoder.vocabulary, d_model});
  decoder.embedding_norm = tensors->Norm("word_embeddings_layernorm", d_model);
  for (int i = 0; i < decoder.layers; ++i) {
    const std::string name = fmt::format("h.{}.", i);
    if (!HasLayer(tensors, name, i, keys.layers, decoder)) return model;
    LayerDescription layer;
    layer.self_attention = ReadJoinedAttention(
        tensors,
        {.joined = name + "self_attention.query_key_value",
         .output = name + "self_attention.dense",
         .groups = decoder.heads,
         .bias = true},
        CausalGeometry(decoder), d_model, &description.memory);
    layer.self_attention_norms.before =
        tensors->Norm(name + "input_layernorm", d_model);
    ReadFeedForward(tensors, name + "mlp.dense_h_to_4h",
                    name + "mlp.dense_4h_to_h", /*bias=*/true, decoder, &layer);
    layer.feed_forward_norms.before =
        tensors->Norm(name + "post_attention_layernorm", d_model);
    decoder.layer.push_back(layer);
  }
  decoder.final_norm = tensors->Norm("ln_f", d_model);
  ReadOutputProjection(config, /*tied_by_default=*/true, tensors, &description);
  return model;
}

}  // namespace trivium
