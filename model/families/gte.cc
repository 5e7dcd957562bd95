#include "model/families/gte.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "model/families/decoder_stack.h"
#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/joined_linear.h"
#include "model/families/rotary_config.h"

namespace trivium {
namespace {

StackDescription ReadGteConfig(ConfigReader* config) {
  StackDescription stack = ReadEncoderConfig(config, {.position_type = "rope"});
  stack.positions = PositionEncoding::kNone;
  const double usual_theta = config->Text("model_type") == "new" ? 1e4 : 1.6e5;
  stack.rotary = {ReadRotary(config, {.head_size = stack.d_model / stack.heads,
                                      .max_positions = stack.max_positions,
                                      .theta = usual_theta})};
  // Options of the model's own code, which no published model uses.
  constexpr char kNorm[] = "layer_norm_type";
  if (config->Text(kNorm).value_or("layer_norm") != "layer_norm") {
    config->Report(kNorm, config->Find(kNorm),
                   "this server supports only \"layer_norm\"");
  }
  RequireBoolean(config, "logn_attention_scale", false);
  return stack;
}

LayerDescription ReadGteLayer(const std::string& name,
                              const StackDescription& stack,
                              TensorReader* tensors, TensorMemory* memory) {
  const int d_model = stack.d_model;
  const int64_t inner = stack.feed_forward;
  const std::string attention = name + "attention.";
  LayerDescription layer;
  AttentionGeometry geometry = AttentionGeometry::Even(d_model, stack.heads);
  geometry.rotary = 0;
  if (tensors->Has(attention + "q_proj.weight")) {
    const auto linear = [&](const char* part) {
      return tensors->Linear(attention + part, d_model, d_model);
    };
    layer.self_attention = {.geometry = geometry,
                            .query = linear("q_proj"),
                            .key = linear("k_proj"),
                            .value = linear("v_proj"),
                            .output = linear("o_proj")};
  } else {
    layer.self_attention =
        ReadJoinedAttention(tensors,
                            {.joined = attention + "qkv_proj",
                             .output = attention + "o_proj",
                             .bias = true},
                            geometry, d_model, memory);
  }
  layer.self_attention_norms.after = tensors->Norm(name + "attn_ln", d_model);
  const std::array<int64_t, 2> rows = {inner, inner};
  const auto gated =
      ReadJoinedLinear(tensors, name + "mlp.up_gate_proj", rows,
                       /*groups=*/1, d_model, /*bias=*/false, memory);
  layer.up = gated[0];
  layer.gate = gated[1];
  layer.down =
      tensors->Linear(name + "mlp.down_proj", d_model, stack.feed_forward);
  layer.feed_forward_norms.after = tensors->Norm(name + "mlp_ln", d_model);
  return layer;
}

}  // namespace

FamilyModel LoadGte(const nlohmann::json& json, const Weights* weights,
                    Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  StackDescription& encoder =
      description.encoder.emplace(ReadGteConfig(config));
  TensorReader* const tensors =
      family.OpenTensors(PrefixOf(weights, {"gte.", "new."}));
  if (tensors == nullptr) return model;

  const int d_model = encoder.d_model;
  ReadEncoderEmbeddings(tensors, d_model, &encoder);
  for (int i = 0; i < encoder.layers; ++i) {
    const std::string name = fmt::format("encoder.layer.{}.", i);
    if (!HasLayer(tensors, name, i, EncoderKeys().layers, encoder)) {
      return model;
    }
    encoder.layer.push_back(
        ReadGteLayer(name, encoder, tensors, &description.memory));
  }
  ReadPooler("pooler.dense", d_model, Activation::kTanh, tensors, &description);
  EncoderHeadNames heads;
  heads.fill_mask = {.dense = "lm_head.dense",
                     .activation = Activation::kGelu,
                     .norm = "lm_head.norm",
                     .output = "lm_head.decoder",
                     .bias = "lm_head.decoder.bias",
                     .width = d_model};
  ReadEncoderHead(heads, config, tensors, &description);
  return model;
}

}  // namespace trivium
