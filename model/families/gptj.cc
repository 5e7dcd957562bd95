#include "model/families/gptj.h"

#include <fmt/format.h>

#include <string>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/joined_linear.h"
#include "model/families/rotary_config.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// CodeGen was trained on so many devices, each with a part of the heads.
constexpr int kCodeGenParts = 4;

AttentionDescription ReadGptJAttention(TensorReader* tensors,
                                       const std::string& name, bool joined,
                                       const AttentionGeometry& geometry,
                                       int d_model, TensorMemory* memory) {
  const auto linear = [&](const char* part) {
    return tensors->Linear(name + part, d_model, d_model, /*bias=*/false);
  };
  if (!joined) {
    return {.geometry = geometry,
            .query = linear("q_proj"),
            .key = linear("k_proj"),
            .value = linear("v_proj"),
            .output = linear("out_proj")};
  }
  const int64_t part = d_model / kCodeGenParts;
  const int64_t rows[] = {part, part, part};
  const auto parts =
      ReadJoinedLinear(tensors, name + "qkv_proj", rows, kCodeGenParts, d_model,
                       /*bias=*/false, memory);
  return {.geometry = geometry,
          .query = parts[0],
          .key = parts[2],
          .value = parts[1],
          .output = linear("out_proj")};
}

FamilyModel LoadGptJLike(const nlohmann::json& json, const Weights* weights,
                         bool joined, Problems* problems) {
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
  decoder.positions = PositionEncoding::kNone;
  decoder.activation =
      ReadActivation(config, "activation_function", Activation::kGeluTanh);
  decoder.norm_epsilon = static_cast<float>(
      config->Real("layer_norm_epsilon", 0, 1).value_or(1e-5));
  if (joined && decoder.d_model % kCodeGenParts != 0) {
    config->Report(keys.d_model, config->Find(keys.d_model),
                   fmt::format("it must be a multiple of {}", kCodeGenParts));
  }
  AttentionGeometry geometry = CausalGeometry(decoder);
  geometry.rotary = 0;
  constexpr char kTurned[] = "rotary_dim";
  const int turned = config->Integer(kTurned, 2, kMaxWidth).value_or(64);
  if (turned > geometry.head_size || turned % 2 != 0) {
    config->Report(
        kTurned, config->Find(kTurned),
        fmt::format("give an even number of at most {}, a head's dimensions",
                    geometry.head_size));
    return model;
  }
  decoder.rotary = {ReadRotary(config, {.head_size = geometry.head_size,
                                        .max_positions = decoder.max_positions,
                                        .turned = turned})};
  TensorReader* const tensors = family.OpenTensors("transformer.");
  if (tensors == nullptr) return model;

  const int d_model = decoder.d_model;
  decoder.embeddings.tokens =
      tensors->Required("wte.weight", {decoder.vocabulary, d_model});
  for (int i = 0; i < decoder.layers; ++i) {
    const std::string name = fmt::format("h.{}.", i);
    if (!HasLayer(tensors, name, i, keys.layers, decoder)) return model;
    LayerDescription layer;
    layer.self_attention =
        ReadGptJAttention(tensors, name + "attn.", joined, geometry, d_model,
                          &description.memory);
    TurnHalves(decoder, &layer.self_attention, &description.memory);
    ReadFeedForward(tensors, name + "mlp.fc_in", name + "mlp.fc_out",
                    /*bias=*/true, decoder, &layer);
    layer.self_attention_norms.before = layer.feed_forward_norms.before =
        tensors->Norm(name + "ln_1", d_model);
    layer.parallel = true;
    decoder.layer.push_back(layer);
  }
  decoder.final_norm = tensors->Norm("ln_f", d_model);
  ReadOutputProjection(config, /*tied_by_default=*/false, tensors, &description,
                       "lm_head", /*bias=*/true);
  return model;
}

}  // namespace

FamilyModel LoadGptJ(const nlohmann::json& json, const Weights* weights,
                     Problems* problems) {
  return LoadGptJLike(json, weights, /*joined=*/false, problems);
}

FamilyModel LoadCodeGen(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  return LoadGptJLike(json, weights, /*joined=*/true, problems);
}

}  // namespace trivium
