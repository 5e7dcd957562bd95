#include "model/families/mamba2.h"

#include <fmt/format.h>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/mixers.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// The model has no longest text. llama.cpp's files have this number, too.
constexpr int kMamba2Positions = 1 << 20;

Mamba2Config ReadSizes(ConfigReader* config, int d_model) {
  Mamba2Config sizes = ReadOwnMamba2Config(config,
                                           {.heads = "num_heads",
                                            .head = "head_dim",
                                            .groups = "n_groups",
                                            .state = "state_size"},
                                           {.heads = 128,
                                            .groups = 8,
                                            .key_size = 128,
                                            .value_size = 64,
                                            .width = 4});
  const int expand = config->Integer("expand", 1, 64).value_or(2);
  if (int64_t{expand} * d_model != int64_t{sizes.heads} * sizes.value_size) {
    config->Report(
        "num_heads", config->Find("num_heads"),
        fmt::format("times head_dim, {}, it must be expand, {}, times "
                    "hidden_size, {}",
                    sizes.value_size, expand, d_model));
  }
  sizes.activation = ReadActivation(config, "hidden_act", Activation::kSwish);
  ReadMamba2RateBounds(config, &sizes);
  return sizes;
}

}  // namespace

FamilyModel LoadMamba2(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  model.generation_defaults = {
      {"bos_token_id", 0}, {"eos_token_id", 2}, {"pad_token_id", 1}};
  const DecoderKeys keys = {.heads = "num_heads",
                            .feed_forward = "",
                            .feed_forward_factor = 1,
                            .positions = "",
                            .usual_positions = kMamba2Positions,
                            .even_heads = false};
  StackDescription& decoder =
      description.decoder.emplace(ReadDecoderConfig(config, keys));
  decoder.positions = PositionEncoding::kNone;
  decoder.norm_epsilon = static_cast<float>(
      config->Real("layer_norm_epsilon", 0, 1).value_or(1e-5));
  const Mamba2Config mamba = ReadSizes(config, decoder.d_model);
  // No layer attends.
  decoder.heads = 1;
  const AttentionGeometry geometry = {
      .heads = 1, .kv_heads = 1, .head_size = 1, .look_ahead = 0};
  TensorReader* const tensors =
      family.OpenTensors(PrefixOf(weights, {"backbone.", "model.backbone."}));
  if (tensors == nullptr) return model;

  const int d_model = decoder.d_model;
  const auto norm = [&](const std::string& name) -> NormTensors {
    return {.weight = tensors->Required(name + ".weight", {d_model}),
            .kind = NormTensors::Kind::kRms};
  };
  decoder.embeddings.tokens =
      tensors->Required("embeddings.weight", {decoder.vocabulary, d_model});
  for (int i = 0; i < decoder.layers; ++i) {
    const std::string name = fmt::format("layers.{}.", i);
    if (!HasLayer(tensors, name, i, keys.layers, decoder)) return model;
    LayerDescription layer;
    layer.self_attention.geometry = geometry;
    layer.self_attention_norms.before = norm(name + "norm");
    layer.mixer = ReadMamba2(tensors, name + "mixer.", mamba, {}, d_model,
                             &description.memory);
    ReadMamba2Norm(tensors, name + "mixer.", mamba, /*after_gate=*/true,
                   &*layer.mixer);
    decoder.layer.push_back(std::move(layer));
  }
  decoder.final_norm = norm("norm_f");
  ReadOutputProjection(config, /*tied_by_default=*/false, tensors,
                       &description);
  return model;
}

}  // namespace trivium
