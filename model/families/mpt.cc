#include "model/families/mpt.h"

#include <fmt/format.h>

#include <string>

#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/joined_linear.h"

namespace trivium {
namespace {

constexpr char kAttention[] = "attn_config";

// Reads what `attn_config` says of all layers. Refuses what Transformers does
// not compute, or this server does not.
void ReadAttentionConfig(ConfigReader* config, AttentionGeometry* geometry) {
  const ConfigReader::Layer given = config->Find(kAttention);
  if (given.json == nullptr) return;
  if (!given.json->is_object()) {
    return config->Report(kAttention, given, "give an object");
  }
  ConfigReader reader(
      {{fmt::format("config.json: {}", kAttention), given.json}},
      config->problems());
  RequireBoolean(&reader, "alibi", true);
  RequireBoolean(&reader, "prefix_lm", false);
  RequireBoolean(&reader, "qk_ln", false);
  geometry->clip = ReadClip(&reader);
  constexpr char kKvHeads[] = "kv_n_heads";
  if (const auto heads = reader.Find(kKvHeads); heads.json != nullptr) {
    reader.Report(kKvHeads, heads, "only null is supported");
  }
  const ConfigReader::Layer kind = reader.Find("attn_type");
  if (kind.json != nullptr && *kind.json != "multihead_attention") {
    reader.Report("attn_type", kind, "give \"multihead_attention\"");
  }
  const ConfigReader::Layer bias = reader.Find("alibi_bias_max");
  if (bias.json != nullptr && *bias.json != 8) {
    reader.Report("alibi_bias_max", bias, "only 8 is supported");
  }
  geometry->scale = static_cast<float>(
      reader.Real("softmax_scale", 1e-9, 1e9).value_or(geometry->scale));
}

}  // namespace

FamilyModel LoadMpt(const nlohmann::json& json, const Weights* weights,
                    Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  const DecoderKeys keys = {.layers = "n_layers",
                            .d_model = "d_model",
                            .heads = "n_heads",
                            .feed_forward = "",
                            .feed_forward_factor = 4,
                            .positions = "max_seq_len",
                            .usual_positions = 2048};
  StackDescription& decoder =
      description.decoder.emplace(ReadDecoderConfig(config, keys));
  model.generation_defaults = EndDefaults(0, decoder);
  decoder.positions = PositionEncoding::kNone;
  decoder.activation = Activation::kGelu;
  decoder.norm_epsilon = static_cast<float>(
      config->Real("layer_norm_epsilon", 0, 1).value_or(1e-5));
  AttentionGeometry geometry = CausalGeometry(decoder);
  ReadAttentionConfig(config, &geometry);
  RequireBoolean(config, "no_bias", true);
  config->Integer("expansion_ratio", 4, 4);
  if (const auto scale = config->Find("logit_scale"); scale.json != nullptr) {
    config->Report("logit_scale", scale, "only null is supported");
  }
  decoder.relative_attention.emplace().slopes =
      AlibiSlopes(decoder.heads, /*scale=*/1);
  TensorReader* const tensors = family.OpenTensors("transformer.");
  if (tensors == nullptr) return model;

  const int d_model = decoder.d_model;
  decoder.embeddings.tokens =
      tensors->Required("wte.weight", {decoder.vocabulary, d_model});
  for (int i = 0; i < decoder.layers; ++i) {
    const std::string name = fmt::format("blocks.{}.", i);
    if (!HasLayer(tensors, name, i, keys.layers, decoder)) return model;
    LayerDescription layer;
    layer.self_attention = ReadJoinedAttention(
        tensors,
        {.joined = name + "attn.Wqkv", .output = name + "attn.out_proj"},
        geometry, d_model, &description.memory);
    layer.self_attention_norms.before =
        tensors->Norm(name + "norm_1", d_model, /*bias=*/false);
    ReadFeedForward(tensors, name + "ffn.up_proj", name + "ffn.down_proj",
                    /*bias=*/false, decoder, &layer);
    layer.feed_forward_norms.before =
        tensors->Norm(name + "norm_2", d_model, /*bias=*/false);
    decoder.layer.push_back(layer);
  }
  decoder.final_norm = tensors->Norm("norm_f", d_model, /*bias=*/false);
  ReadOutputProjection(config, /*tied_by_default=*/true, tensors, &description);
  return model;
}

}  // namespace trivium
