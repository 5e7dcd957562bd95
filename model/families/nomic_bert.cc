#include "model/families/nomic_bert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "model/families/decoder_stack.h"
#include "model/families/derived_tensors.h"
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
  int head_size = 0;
  bool gated = true;
  bool attention_bias = false;
  bool up_bias = false;
  bool down_bias = false;
  // Layers 1, 1 + expert_step, ... have experts; 0: none has.
  int experts = 0;
  int expert_step = 0;
  int chosen_experts = 1;
  bool experts_bias = true;  // GGUF files have none

  bool HasExperts(int layer) const {
    return experts > 0 && expert_step > 1 && layer % expert_step == 1;
  }
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

void ReadExpertCounts(ConfigReader* config, NomicConfig* result) {
  constexpr char kExperts[] = "num_experts";
  constexpr char kChosen[] = "moe_top_k";
  result->experts = config->Integer(kExperts, 0, kMaxExperts).value_or(0);
  if (result->experts == 0) return;
  result->expert_step =
      config->Integer("moe_every_n_layers", 0, kMaxLayers).value_or(0);
  result->chosen_experts = config->Integer(kChosen, 1, kMaxExperts).value_or(1);
  if (result->chosen_experts > result->experts) {
    config->Report(
        kChosen, config->Find(kChosen),
        fmt::format("give at most {}, {}", kExperts, result->experts));
  }
  if (result->gated) {
    config->Report("activation_function", config->Find("activation_function"),
                   "with experts this server runs only \"gelu\"");
  }
  result->experts_bias = config->Boolean("experts_bias").value_or(true);
  RequireBoolean(config, "moe_normalize_expert_weights", false);
  RequireBoolean(config, "expert_choice_router", false);
}

RotaryDescription ReadOwnRotary(ConfigReader* config, StackDescription* stack) {
  constexpr char kFactor[] = "rotary_scaling_factor";
  constexpr char kTrained[] = "max_trained_positions";
  nlohmann::json values = nlohmann::json::object();
  values["rope_theta"] =
      config->Real("rotary_emb_base", 1, 1e15).value_or(10000);
  // With a factor, texts that are longer than those of training would change
  // the frequencies.
  const bool scaled = config->Real(kFactor, 1, 1e15).has_value();
  if (scaled) {
    stack->max_positions =
        std::min(stack->max_positions,
                 config->Integer(kTrained, 1, kMaxPositions).value_or(2048));
  }
  RotaryDescription rotary =
      ReadRotarySet(values, "rotary_emb_base",
                    {.head_size = stack->d_model / stack->heads,
                     .max_positions = stack->max_positions},
                    config->problems());
  if (scaled) {
    rotary.caveat = fmt::format(
        "{} scales the rotary positions of texts longer than {}, {}: such "
        "texts are refused, and shorter ones need no scaling; remove it to "
        "serve texts of up to n_positions without scaling",
        kFactor, kTrained, stack->max_positions);
  }
  return rotary;
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
  require("num_shared_experts", 0);
  require("ffn_div", 1);
  ReadExpertCounts(config, &result);
  stack.rotary = {ReadOwnRotary(config, &stack)};
  result.head_size = stack.d_model / stack.heads;
  return result;
}

NomicConfig ReadNomicConfig(ConfigReader* config) {
  NomicConfig result;
  if (config->Find("n_embd").json != nullptr) {
    result = ReadOwnNomicConfig(config);
  } else {
    StackDescription& stack = result.encoder = ReadEncoderConfig(config);
    result.layers_key = EncoderKeys().layers;
    if (config->Find(EncoderKeys().activation).json == nullptr) {
      stack.activation = Activation::kSwish;
    }
    result.head_size = config->Integer("head_dim", 1, kMaxWidth)
                           .value_or(std::max(stack.d_model / stack.heads, 1));
    stack.rotary = {ReadRotary(config, {.head_size = result.head_size,
                                        .max_positions = stack.max_positions,
                                        .theta = 1000})};
  }
  result.encoder.positions = PositionEncoding::kNone;
  return result;
}

// All experts are in two tensors, [experts x inner, d_model] each.
ExpertsDescription ReadNomicExperts(const NomicConfig& config,
                                    const std::string& name,
                                    TensorReader* tensors,
                                    TensorMemory* memory) {
  const int d_model = config.encoder.d_model;
  const int64_t inner = config.encoder.feed_forward;
  ExpertsDescription description;
  description.chosen = config.chosen_experts;
  description.over_all = true;
  description.router = tensors->Linear(name + "router.layer", config.experts,
                                       d_model, /*bias=*/false);
  if (config.experts_bias) {
    description.bias = tensors->Required(name + "experts.bias", {d_model});
  }
  const std::vector<int64_t> shape = {config.experts * inner, d_model};
  const TensorView* const up =
      tensors->Required(name + "experts.mlp.w1", shape);
  const TensorView* const down =
      tensors->Required(name + "experts.mlp.w2", shape);
  if (up == nullptr || down == nullptr) return description;
  const std::vector<int64_t> rows(config.experts, inner);
  TensorMemory split_memory;
  const auto ups = SplitRows(*up, /*groups=*/1, rows, memory);
  const auto downs = SplitRows(*down, /*groups=*/1, rows, &split_memory);
  for (int i = 0; i < config.experts; ++i) {
    description.experts.push_back(
        {.gate = {}, .up = {ups[i]}, .down = {Transpose(*downs[i], memory)}});
  }
  return description;
}

void ReadNomicDense(const NomicConfig& config, const std::string& mlp,
                    TensorReader* tensors, LayerDescription* layer) {
  const int d_model = config.encoder.d_model;
  const int inner = config.encoder.feed_forward;
  if (config.gated) {
    layer->up = tensors->Linear(mlp + "fc11", inner, d_model, config.up_bias);
    layer->gate = tensors->Linear(mlp + "fc12", inner, d_model, config.up_bias);
  } else {
    layer->up = tensors->Linear(mlp + "fc1", inner, d_model, config.up_bias);
  }
  layer->down = tensors->Linear(mlp + "fc2", d_model, inner, config.down_bias);
}

LayerDescription ReadNomicLayer(const NomicConfig& config,
                                const std::string& name, int i,
                                TensorReader* tensors, TensorMemory* memory) {
  const int d_model = config.encoder.d_model;
  LayerDescription layer;
  AttentionGeometry geometry = AttentionGeometry::Even(
      config.head_size * config.encoder.heads, config.encoder.heads);
  geometry.rotary = 0;
  layer.self_attention = ReadJoinedAttention(tensors,
                                             {.joined = name + "attn.Wqkv",
                                              .output = name + "attn.out_proj",
                                              .bias = config.attention_bias},
                                             geometry, d_model, memory);
  layer.self_attention_norms.after = tensors->Norm(name + "norm1", d_model);
  const std::string mlp = name + "mlp.";
  if (config.HasExperts(i)) {
    layer.experts = ReadNomicExperts(config, mlp, tensors, memory);
  } else {
    ReadNomicDense(config, mlp, tensors, &layer);
  }
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
        ReadNomicLayer(config, name, i, tensors, &description.memory));
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
