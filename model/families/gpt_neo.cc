#include "model/families/gpt_neo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// Returns for each layer whether it sees only a band. attention_types is a list
// of [[type, ...], repetitions].
std::vector<bool> ReadBands(ConfigReader* config, int layers) {
  constexpr std::string_view kKey = "attention_types";
  const auto fallback = nlohmann::json::parse(R"([[["global", "local"], 12]])");
  const ConfigReader::Layer value = config->Find(kKey);
  std::vector<bool> bands;
  bool known = value.json == nullptr || value.json->is_array();
  if (known) {
    for (const auto& entry : value.json ? *value.json : fallback) {
      known = known && entry.is_array() && entry.size() == 2 &&
              entry[0].is_array() && entry[1].is_number_integer();
      if (!known) break;
      const int64_t times =
          std::min<int64_t>(entry[1].get<int64_t>(), kMaxLayers);
      for (int64_t i = 0; i < times && bands.size() <= kMaxLayers; ++i) {
        for (const auto& type : entry[0]) {
          known = known && (type == "global" || type == "local");
          if (bands.size() <= kMaxLayers) bands.push_back(type == "local");
        }
      }
    }
  }
  if (!known || bands.size() != static_cast<size_t>(layers)) {
    config->Report(kKey, value,
                   fmt::format("give [[[\"global\" or \"local\", ...], times], "
                               "...] for num_layers, {}, layers in all",
                               layers));
    return std::vector<bool>(layers);
  }
  // Transformers also writes the same list with repetitions spelled out.
  constexpr std::string_view kSpelledOut = "attention_layers";
  const ConfigReader::Layer spelled_out = config->Find(kSpelledOut);
  if (spelled_out.json == nullptr) return bands;
  nlohmann::json expected = nlohmann::json::array();
  for (const bool band : bands) expected.push_back(band ? "local" : "global");
  if (*spelled_out.json != expected) {
    config->Report(kSpelledOut, spelled_out,
                   "it differs from attention_types; make them agree");
  }
  return bands;
}

AttentionDescription ReadNeoAttention(TensorReader* tensors,
                                      const std::string& name, int d_model,
                                      const AttentionGeometry& geometry) {
  const auto without_bias = [&](const char* part) {
    return LinearTensors{
        tensors->Required(name + part + ".weight", {d_model, d_model})};
  };
  return {geometry, without_bias("q_proj"), without_bias("k_proj"),
          without_bias("v_proj"),
          tensors->Linear(name + "out_proj", d_model, d_model)};
}

}  // namespace

FamilyModel LoadGptNeo(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  const DecoderKeys keys = {
      .layers = "num_layers", .heads = "num_heads", .feed_forward_factor = 4};
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.decoder = ReadDecoderConfig(config, keys);
  StackDescription& decoder = *description.decoder;
  model.generation_defaults = EndDefaults(50256, decoder);
  decoder.activation =
      ReadActivation(config, "activation_function", Activation::kGeluTanh);
  decoder.norm_epsilon = static_cast<float>(
      config->Real("layer_norm_epsilon", 0, 1).value_or(1e-5));
  const std::vector<bool> bands = ReadBands(config, decoder.layers);
  const int window =
      config->Integer("window_size", 1, kMaxPositions).value_or(256);
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
    geometry.scale = 1;
    if (bands[i]) geometry.look_back = window - 1;
    LayerDescription layer;
    layer.self_attention =
        ReadNeoAttention(tensors, name + "attn.attention.", d_model, geometry);
    layer.self_attention_norms.before = tensors->Norm(name + "ln_1", d_model);
    layer.up =
        tensors->Linear(name + "mlp.c_fc", decoder.feed_forward, d_model);
    layer.down =
        tensors->Linear(name + "mlp.c_proj", d_model, decoder.feed_forward);
    layer.feed_forward_norms.before = tensors->Norm(name + "ln_2", d_model);
    decoder.layer.push_back(layer);
  }
  decoder.final_norm = tensors->Norm("ln_f", d_model);
  ReadOutputProjection(config, /*tied_by_default=*/true, tensors, &description);
  return model;
}

}  // namespace trivium
