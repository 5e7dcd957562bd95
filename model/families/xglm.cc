#include "model/families/xglm.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"

namespace trivium {
namespace {

// Rows of the tables of positions that no token uses.
constexpr int kUnusedRows = 2;

// Differences between the two.
struct FairseqNames {
  DecoderKeys keys;
  std::string activation;  // a key
  std::string prefix;
  std::string output;
  bool learned = false;  // positions
};

FamilyModel LoadFairseqDecoder(const nlohmann::json& json,
                               const Weights* weights,
                               const FairseqNames& names, Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  model.generation_defaults = {
      {"bos_token_id", 0}, {"eos_token_id", 2}, {"pad_token_id", 1}};
  TransformerDescription& description = model.description;
  StackDescription& decoder =
      description.decoder.emplace(ReadDecoderConfig(config, names.keys));
  decoder.positions = names.learned ? PositionEncoding::kLearned
                                    : PositionEncoding::kSinusoidalToEnd;
  decoder.position_offset = kUnusedRows;
  decoder.activation =
      ReadActivation(config, names.activation, Activation::kGelu);
  decoder.norm_epsilon = 1e-5f;
  if (config->Boolean("scale_embedding").value_or(true)) {
    decoder.embedding_scale = std::sqrt(static_cast<float>(decoder.d_model));
  }
  RequireBoolean(config, "add_cross_attention", false);
  TensorReader* const tensors = family.OpenTensors(names.prefix);
  if (tensors == nullptr) return model;

  const int d_model = decoder.d_model;
  decoder.embeddings.tokens =
      tensors->Required("embed_tokens.weight", {decoder.vocabulary, d_model});
  if (names.learned) {
    decoder.embeddings.positions =
        tensors->Required("embed_positions.weight",
                          {decoder.max_positions + kUnusedRows, d_model});
  }
  for (int i = 0; i < decoder.layers; ++i) {
    const std::string name = fmt::format("layers.{}.", i);
    if (!HasLayer(tensors, name, i, names.keys.layers, decoder)) return model;
    const auto linear = [&](const char* part) {
      return tensors->Linear(name + "self_attn." + part, d_model, d_model);
    };
    LayerDescription layer;
    layer.self_attention = {.geometry = CausalGeometry(decoder),
                            .query = linear("q_proj"),
                            .key = linear("k_proj"),
                            .value = linear("v_proj"),
                            .output = linear("out_proj")};
    layer.self_attention_norms.before =
        tensors->Norm(name + "self_attn_layer_norm", d_model);
    ReadFeedForward(tensors, name + "fc1", name + "fc2", /*bias=*/true, decoder,
                    &layer);
    layer.feed_forward_norms.before =
        tensors->Norm(name + "final_layer_norm", d_model);
    decoder.layer.push_back(layer);
  }
  decoder.final_norm = tensors->Norm("layer_norm", d_model);
  ReadOutputProjection(config, /*tied_by_default=*/true, tensors, &description,
                       names.output);
  return model;
}

}  // namespace

FamilyModel LoadXglm(const nlohmann::json& json, const Weights* weights,
                     Problems* problems) {
  return LoadFairseqDecoder(json, weights,
                            {.keys = {.layers = "num_layers",
                                      .d_model = "d_model",
                                      .heads = "attention_heads",
                                      .feed_forward = "ffn_dim"},
                             .activation = "activation_function",
                             .prefix = "model.",
                             .output = "lm_head"},
                            problems);
}

FamilyModel LoadBioGpt(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  return LoadFairseqDecoder(json, weights,
                            {.keys = {},
                             .activation = "hidden_act",
                             .prefix = "biogpt.",
                             .output = "output_projection",
                             .learned = true},
                            problems);
}

}  // namespace trivium
