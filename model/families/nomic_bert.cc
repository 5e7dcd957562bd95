#include "model/families/nomic_bert.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "model/families/decoder_stack.h"
#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/joined_linear.h"
#include "model/families/rotary_config.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

struct NomicConfig {
  StackDescription encoder;
  std::string layers_key;
  bool gated = true;
  bool attention_bias = false;
  bool up_bias = false;
  bool down_bias = false;
};

// The activation of the feed-forward, "swiglu", "geglu" or one without a gate.
void ReadNomicFeedForward(ConfigReader* config, NomicConfig* result) {
  constexpr char kKey[] = "activation_function";
  const std::string name = config->Text(kKey).value_or("gelu");
  if (name == "swiglu") {
    result->encoder.activation = Activation::kSwish;
  } else if (name == "geglu") {
    result->encoder.activation = Activation::kGelu;
  } else {
    result->gated = false;
    if (name == "gelu") {
      result->encoder.activation = Activation::kGelu;
    } else {
      config->Report(kKey, config->Find(kKey),
                     "give \"swiglu\", \"geglu\" or \"gelu\"");
    }
  }
}

RotaryDescription ReadOwnRotary(ConfigReader* config, StackDescription* stack) {
  constexpr char kFactor[] = "rotary_scaling_factor";
  constexpr char kTrained[] = "max_trained_positions";
  nlohmann::json values = nlohmann::json::object();
  values["rope_theta"] =
      config->Real("rotary_emb_base", 1, 1e15).value_or(10000);
  // With a factor, texts that are longer than those of training would change
  // the frequencies.
  if (const auto factor = config->Real(kFactor, 1, 1e15)) {
    values["rope_type"] = "dynamic";
    values["factor"] = *factor;
    stack->max_positions =
        std::min(stack->max_positions,
                 config->Integer(kTrained, 1, kMaxPositions).value_or(2048));
  }
  return ReadRotarySet(values, "rotary_emb_base",
                       {.head_size = stack->d_model / stack->heads,
                        .max_positions = stack->max_positions},
                       config->problems());
}

// The keys of the model's own code.
NomicConfig ReadOwnNomicConfig(ConfigReader* config) {
  const EncoderKeys keys = {.layers = "n_layer",
                            .d_model = "n_embd",
                            .heads = "n_head",
                            .feed_forward = "n_inner",
                            .activation = "",
                            .positions = "n_positions"};
  NomicConfig result;
  StackDescription& stack = result.encoder = ReadEncoderConfig(config, keys);
  result.layers_key = keys.layers;
  stack.norm_epsilon = static_cast<float>(
      config->Real("layer_norm_epsilon", 0, 1).value_or(1e-5));
  ReadNomicFeedForward(config, &result);
  result.attention_bias = config->Boolean("qkv_proj_bias").value_or(true);
  result.up_bias = config->Boolean("mlp_fc1_bias").value_or(true);
  result.down_bias = config->Boolean("mlp_fc2_bias").value_or(true);
  for (const char* key :
       {"prenorm", "parallel_block", "causal", "use_rms_norm",
        "rotary_emb_interleaved", "scale_attn_by_inverse_layer_idx"}) {
    RequireBoolean(config, key, false);
  }
  RequireBoolean(config, "scale_attn_weights", true);
  const auto require = [&](const char* key, double only) {
    if (config->Real(key, 0, 1e15).value_or(only) == only) return;
    config->Report(key, config->Find(key),
                   fmt::format("this server runs {} only", only));
  };
  require("rotary_emb_fraction", 1);
  require("rotary_emb_scale_base", 0);
  require("num_experts", 0);
  stack.rotary = {ReadOwnRotary(config, &stack)};
  return result;
}

NomicConfig ReadNomicConfig(ConfigReader* config) {
  NomicConfig result;
  if (config->Find("hidden_size").json == nullptr &&
      config->Find("n_embd").json != nullptr) {
    result = ReadOwnNomicConfig(config);
  } else {
    StackDescription& stack = result.encoder = ReadEncoderConfig(config);
    result.layers_key = EncoderKeys().layers;
    if (config->Find(EncoderKeys().activation).json == nullptr) {
      stack.activation = Activation::kSwish;
    }
    constexpr char kHeadSize[] = "head_dim";
    const int size = std::max(stack.d_model / stack.heads, 1);
    if (config->Integer(kHeadSize, 1, kMaxWidth).value_or(size) != size) {
      config->Report(kHeadSize, config->Find(kHeadSize),
                     "heads of this family share hidden_size evenly");
    }
    stack.rotary = {ReadRotary(config, {.head_size = size,
                                        .max_positions = stack.max_positions,
                                        .theta = 1000})};
  }
  result.encoder.positions = PositionEncoding::kNone;
  return result;
}

LayerDescription ReadNomicLayer(const NomicConfig& config,
                                const std::string& name, TensorReader* tensors,
                                TensorMemory* memory) {
  const int d_model = config.encoder.d_model;
  const int inner = config.encoder.feed_forward;
  LayerDescription layer;
  AttentionDescription& self = layer.self_attention;
  self.geometry = AttentionGeometry::Even(d_model, config.encoder.heads);
  self.geometry.rotary = 0;
  ReadJoinedAttention(tensors, name + "attn.Wqkv", d_model,
                      config.attention_bias, memory, &self);
  self.output = tensors->Linear(name + "attn.out_proj", d_model, d_model,
                                config.attention_bias);
  layer.self_attention_norms.after = tensors->Norm(name + "norm1", d_model);
  const std::string mlp = name + "mlp.";
  if (config.gated) {
    layer.up = tensors->Linear(mlp + "fc11", inner, d_model, config.up_bias);
    layer.gate = tensors->Linear(mlp + "fc12", inner, d_model, config.up_bias);
  } else {
    layer.up = tensors->Linear(mlp + "fc1", inner, d_model, config.up_bias);
  }
  layer.down = tensors->Linear(mlp + "fc2", d_model, inner, config.down_bias);
  layer.feed_forward_norms.after = tensors->Norm(name + "norm2", d_model);
  return layer;
}

}  // namespace

FamilyModel LoadNomicBert(const nlohmann::json& json, const Weights* weights,
                          Problems* problems) {
  FamilyReader family(json, weights, problems);
  const NomicConfig config = ReadNomicConfig(family.config());
  FamilyModel model;
  TransformerDescription& description = model.description;
  StackDescription& encoder = description.encoder.emplace(config.encoder);
  TensorReader* const tensors =
      family.OpenTensors(PrefixOf(weights, {"nomic_bert.", "bert."}));
  if (tensors == nullptr) return model;

  const int d_model = encoder.d_model;
  ReadEncoderEmbeddings(tensors, d_model, &encoder, "emb_ln");
  for (int i = 0; i < encoder.layers; ++i) {
    const std::string name = fmt::format("encoder.layers.{}.", i);
    if (!HasLayer(tensors, name, i, config.layers_key, encoder)) return model;
    encoder.layer.push_back(
        ReadNomicLayer(config, name, tensors, &description.memory));
  }
  ReadPooler("pooler.dense", d_model, Activation::kTanh, tensors, &description);
  EncoderHeadNames heads;
  heads.fill_mask = {.dense = "cls.predictions.transform.dense",
                     .activation = encoder.activation,
                     .norm = "cls.predictions.transform.layer_norm",
                     .output = "cls.predictions.decoder",
                     .bias = "cls.predictions.bias",
                     .width = d_model};
  ReadEncoderHead(heads, family.config(), tensors, &description);
  return model;
}

}  // namespace trivium
