#include "model/families/mamba_stack.h"

#include <fmt/format.h>

#include <utility>

#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"

namespace trivium {
namespace {

// The model has no longest text. llama.cpp's files have this number, too.
constexpr int kMambaPositions = 1 << 20;

}  // namespace

StackDescription ReadMambaConfig(ConfigReader* config) {
  StackDescription stack =
      ReadDecoderConfig(config, {.heads = "",
                                 .feed_forward = "",
                                 .feed_forward_factor = 1,
                                 .positions = "",
                                 .usual_positions = kMambaPositions,
                                 .even_heads = false});
  stack.positions = PositionEncoding::kNone;
  stack.norm_epsilon = static_cast<float>(
      config->Real("layer_norm_epsilon", 0, 1).value_or(1e-5));
  return stack;
}

void ReadMambaModel(FamilyReader* family, const Weights* weights,
                    bool tied_by_default,
                    absl::FunctionRef<MixerDescription(TensorReader* tensors,
                                                       const std::string& name)>
                        read_mixer,
                    TransformerDescription* description) {
  TensorReader* const tensors =
      family->OpenTensors(PrefixOf(weights, {"backbone.", "model.backbone."}));
  if (tensors == nullptr) return;
  StackDescription& decoder = *description->decoder;
  const int d_model = decoder.d_model;
  const auto norm = [&](const std::string& name) -> NormTensors {
    return {.weight = tensors->Required(name + ".weight", {d_model}),
            .kind = NormTensors::Kind::kRms};
  };
  decoder.embeddings.tokens =
      tensors->Required("embeddings.weight", {decoder.vocabulary, d_model});
  for (int i = 0; i < decoder.layers; ++i) {
    const std::string name = fmt::format("layers.{}.", i);
    if (!HasLayer(tensors, name, i, "num_hidden_layers", decoder)) return;
    LayerDescription layer;
    // No layer attends.
    layer.self_attention.geometry = {
        .heads = 1, .kv_heads = 1, .head_size = 1, .look_ahead = 0};
    layer.self_attention_norms.before = norm(name + "norm");
    layer.mixer = read_mixer(tensors, name + "mixer.");
    decoder.layer.push_back(std::move(layer));
  }
  decoder.final_norm = norm("norm_f");
  ReadOutputProjection(family->config(), tied_by_default, tensors, description);
}

}  // namespace trivium
