#include "model/families/modernbert.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "model/families/activation_names.h"
#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/joined_linear.h"
#include "model/families/layer_rotaries.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

using Input = HeadDescription::Input;

struct ModernBertConfig {
  StackDescription encoder;
  std::vector<AttentionGeometry> geometries;  // of the layers
  bool norm_bias = false;
  bool attention_bias = false;
  bool feed_forward_bias = false;
  // The heads have these.
  bool classifier_bias = false;
  bool decoder_bias = true;
  bool tied = true;
  Activation classifier_activation = Activation::kGelu;
  Input classifier_pooling = Input::kFirstToken;
};

// A null local_rope_theta means that of the layers that see everything.
double LocalTheta(const nlohmann::json& json, ConfigReader* config,
                  double global) {
  constexpr char kLocal[] = "local_rope_theta";
  if (!json.contains(kLocal) || !json[kLocal].is_null()) return 10000;
  return config->Real("global_rope_theta", 1, 1e15).value_or(global);
}

std::vector<AttentionGeometry> ReadModernBertGeometries(
    ConfigReader* config, const StackDescription& stack) {
  const int step =
      config->Integer("global_attn_every_n_layers", 1, kMaxLayers).value_or(3);
  std::vector<bool> slides(stack.layers);
  for (int i = 0; i < stack.layers; ++i) slides[i] = i % step != 0;
  slides = ReadLayerTypes(config, slides);
  // Half of it lies to either side of a token.
  const int window =
      config->Integer("local_attention", 1, kMaxPositions).value_or(128);
  std::vector<AttentionGeometry> geometries;
  for (const bool slide : slides) {
    AttentionGeometry geometry =
        AttentionGeometry::Even(stack.d_model, stack.heads);
    geometry.rotary = slide ? kSlidingLayer : kFullLayer;
    if (slide) geometry.look_back = geometry.look_ahead = window / 2;
    geometries.push_back(geometry);
  }
  return geometries;
}

ModernBertConfig ReadModernBertConfig(const nlohmann::json& json,
                                      ConfigReader* config) {
  ModernBertConfig result;
  const auto flag = [&](const char* key, bool usual) {
    return config->Boolean(key).value_or(usual);
  };
  StackDescription& stack = result.encoder =
      ReadEncoderConfig(config, {.activation = "hidden_activation"});
  stack.type_vocabulary = 0;
  stack.positions = PositionEncoding::kNone;
  stack.norm_epsilon =
      static_cast<float>(config->Real("norm_eps", 0, 1).value_or(1e-5));
  constexpr double kGlobalTheta = 160000;
  stack.rotary = ReadLayerRotaries(
      config,
      {.thetas = {"global_rope_theta", "local_rope_theta"},
       .usual_thetas = {kGlobalTheta, LocalTheta(json, config, kGlobalTheta)},
       .scales_windows = true},
      stack.d_model / stack.heads, stack.max_positions);
  result.geometries = ReadModernBertGeometries(config, stack);
  result.norm_bias = flag("norm_bias", false);
  result.attention_bias = flag("attention_bias", false);
  result.feed_forward_bias = flag("mlp_bias", false);
  result.classifier_bias = flag("classifier_bias", false);
  result.decoder_bias = flag("decoder_bias", true);
  result.tied = flag("tie_word_embeddings", true);
  result.classifier_activation =
      ReadActivation(config, "classifier_activation", Activation::kGelu);
  constexpr char kPooling[] = "classifier_pooling";
  const std::string pooling = config->Text(kPooling).value_or("cls");
  if (pooling == "mean") {
    result.classifier_pooling = Input::kMean;
  } else if (pooling != "cls") {
    config->Report(kPooling, config->Find(kPooling),
                   "give \"cls\" or \"mean\"");
  }
  return result;
}

LayerDescription ReadModernBertLayer(const ModernBertConfig& config,
                                     const std::string& name, int i,
                                     TensorReader* tensors,
                                     TensorMemory* memory) {
  const int d_model = config.encoder.d_model;
  const int64_t inner = config.encoder.feed_forward;
  const auto norm = [&](const char* part) {
    return tensors->Norm(name + part, d_model, config.norm_bias);
  };
  LayerDescription layer;
  layer.self_attention =
      ReadJoinedAttention(tensors,
                          {.joined = name + "attn.Wqkv",
                           .output = name + "attn.Wo",
                           .bias = config.attention_bias},
                          config.geometries[i], d_model, memory);
  // The first layer reads the normalized embeddings.
  if (i > 0) layer.self_attention_norms.before = norm("attn_norm");
  const std::array<int64_t, 2> rows = {inner, inner};
  const auto gated =
      ReadJoinedLinear(tensors, name + "mlp.Wi", rows, /*groups=*/1, d_model,
                       config.feed_forward_bias, memory);
  layer.gate = gated[0];
  layer.up = gated[1];
  layer.down =
      tensors->Linear(name + "mlp.Wo", d_model, config.encoder.feed_forward,
                      config.feed_forward_bias);
  layer.feed_forward_norms.before = norm("mlp_norm");
  return layer;
}

// All heads begin with the same layer and norm.
void ReadModernBertHead(const ModernBertConfig& model, ConfigReader* config,
                        TensorReader* tensors,
                        TransformerDescription* description) {
  const std::optional<HeadKind> kind = FindHeadKind(config);
  if (!kind || !tensors->HasAnyWith("head.dense.")) return;
  const StackDescription& encoder = *description->encoder;
  const int d_model = encoder.d_model;
  HeadDescription& head = description->head.emplace();
  head.kind = *kind;
  head.dense =
      tensors->Linear("head.dense", d_model, d_model, model.classifier_bias);
  head.activation = model.classifier_activation;
  head.norm = tensors->Norm("head.norm", d_model, model.norm_bias);
  if (*kind == HeadKind::kFillMask) {
    head.output.weight = model.tied
                             ? encoder.embeddings.tokens
                             : tensors->Required("decoder.weight",
                                                 {encoder.vocabulary, d_model});
    if (model.decoder_bias) {
      head.output.bias =
          tensors->Required("decoder.bias", {encoder.vocabulary});
    }
    return;
  }
  if (*kind == HeadKind::kClassify) head.input = model.classifier_pooling;
  const int outputs = *kind == HeadKind::kAnswer ? 2 : LabelCount(config);
  head.output = tensors->Linear("classifier", outputs, d_model);
}

}  // namespace

FamilyModel LoadModernBert(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  FamilyReader family(json, weights, problems);
  const ModernBertConfig config = ReadModernBertConfig(json, family.config());
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.encoder = config.encoder;
  TensorReader* const tensors = family.OpenTensors("model.");
  if (tensors == nullptr) return model;

  StackDescription& encoder = *description.encoder;
  const int d_model = encoder.d_model;
  encoder.embeddings.tokens = tensors->Required(
      "embeddings.tok_embeddings.weight", {encoder.vocabulary, d_model});
  encoder.embedding_norm =
      tensors->Norm("embeddings.norm", d_model, config.norm_bias);
  for (int i = 0; i < encoder.layers; ++i) {
    const std::string name = fmt::format("layers.{}.", i);
    if (!HasLayer(tensors, name, i, EncoderKeys().layers, encoder)) {
      return model;
    }
    encoder.layer.push_back(
        ReadModernBertLayer(config, name, i, tensors, &description.memory));
  }
  encoder.final_norm = tensors->Norm("final_norm", d_model, config.norm_bias);
  ReadModernBertHead(config, family.config(), tensors, &description);
  return model;
}

}  // namespace trivium
