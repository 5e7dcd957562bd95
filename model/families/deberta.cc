// The score of a query and a key is a sum of up to three terms,
//
//   content x content + content x distance + distance x content,
//
// divided by sqrt(number of terms x head size); pos_att_type says which of the
// last two a model has. Version 1 has projections of distances of its own and
// one joined tensor for queries, keys and values, with biases for queries and
// values only. Version 2 may share the projections of contents (share_att_key),
// and may put far distances into logarithmic buckets.
#include "model/families/deberta.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/families/activation_names.h"
#include "model/families/derived_tensors.h"
#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

using Relative = RelativeAttentionDescription;

struct DebertaConfig {
  StackDescription encoder;
  bool content_to_position = false;
  bool position_to_content = false;
  bool share_projections = false;  // v2's share_att_key
  Activation pooler_activation = Activation::kGelu;
  bool legacy_head = true;
  int convolution_width = 0;  // v2's conv_kernel_size; 0: there is none
  Activation convolution_activation = Activation::kTanh;

  // Number of terms in a score.
  int terms() const { return 1 + content_to_position + position_to_content; }
};

// Reads pos_att_type: a list, or its items joined by "|" in the oldest folders.
void ReadTerms(ConfigReader* config, DebertaConfig* result) {
  const ConfigReader::Layer types = config->Find("pos_att_type");
  if (types.json == nullptr) return;
  std::string joined;
  if (types.json->is_string()) joined = types.json->get<std::string>();
  if (types.json->is_array()) {
    for (const nlohmann::json& type : *types.json) {
      joined += (joined.empty() ? "" : "|") +
                (type.is_string() ? type.get<std::string>() : type.dump());
    }
  }
  const std::string all = "|" + joined + "|";
  result->content_to_position = all.find("|c2p|") != all.npos;
  result->position_to_content = all.find("|p2c|") != all.npos;
  const size_t known =
      4 * result->content_to_position + 4 * result->position_to_content;
  if (joined.size() + 1 != std::max<size_t>(known, 1)) {
    config->Report("pos_att_type", types, "give a list of c2p and p2c");
  }
}

// Refuses options that no published model of the family needs.
void RefuseOptions(ConfigReader* config, const StackDescription& encoder) {
  const auto refuse = [&](const char* key, bool wanted) {
    if (wanted) {
      config->Report(key, config->Find(key), "this server cannot do that");
    }
  };
  refuse("talking_head", config->Boolean("talking_head").value_or(false));
  refuse("z_steps", config->Integer("z_steps", 0, kMaxLayers).value_or(0) > 1);
  refuse("embedding_size",
         config->Integer("embedding_size", 1, kMaxWidth)
                 .value_or(encoder.d_model) != encoder.d_model);
  const int head_size = encoder.d_model / encoder.heads;
  refuse("attention_head_size",
         config->Integer("attention_head_size", 1, kMaxWidth)
                 .value_or(head_size) != head_size);
}

DebertaConfig ReadDebertaConfig(ConfigReader* config) {
  DebertaConfig result;
  StackDescription& encoder = result.encoder;
  encoder = ReadEncoderConfig(config);
  encoder.type_vocabulary =
      config->Integer("type_vocab_size", 0, kMaxPositions).value_or(0);
  encoder.norm_epsilon =
      static_cast<float>(config->Real("layer_norm_eps", 0, 1).value_or(1e-7));
  if (!config->Boolean("position_biased_input").value_or(true)) {
    encoder.positions = PositionEncoding::kNone;
  }
  ReadTerms(config, &result);
  const int farthest =
      config->Integer("max_relative_positions", -1, kMaxPositions).value_or(-1);
  Relative relative;
  relative.max_distance = farthest < 1 ? encoder.max_positions : farthest;
  relative.span = relative.max_distance;
  if (config->Boolean("relative_attention").value_or(false)) {
    encoder.relative_attention = relative;
  } else if (result.terms() > 1) {
    config->Report("pos_att_type", config->Find("pos_att_type"),
                   "it needs relative_attention true");
  }
  result.pooler_activation =
      ReadActivation(config, "pooler_hidden_act", Activation::kGelu);
  result.legacy_head = config->Boolean("legacy").value_or(true);
  RefuseOptions(config, encoder);
  return result;
}

// Version 1 keeps queries, keys and values of a head together:
//
//   [heads, {query, key, value}, head size, d_model]
void ReadJoinedProjections(const std::string& name, TensorReader* tensors,
                           TransformerDescription* description,
                           AttentionDescription* attention) {
  const StackDescription& encoder = *description->encoder;
  const int64_t d_model = encoder.d_model;
  attention->query.bias = tensors->Required(name + "q_bias", {d_model});
  attention->value.bias = tensors->Required(name + "v_bias", {d_model});
  const TensorView* joined =
      tensors->Required(name + "in_proj.weight", {3 * d_model, d_model});
  if (joined == nullptr) return;
  const int64_t head_size = d_model / encoder.heads;
  const std::vector<const TensorView*> parts =
      SplitRows(*joined, encoder.heads,
                std::vector<int64_t>{head_size, head_size, head_size},
                &description->memory);
  attention->query.weight = parts[0];
  attention->key.weight = parts[1];
  attention->value.weight = parts[2];
}

void ReadHeads(const DebertaConfig& config, ConfigReader* reader,
               TensorReader* tensors, TransformerDescription* description) {
  const StackDescription& encoder = *description->encoder;
  ReadPooler("pooler.dense", encoder.d_model, config.pooler_activation, tensors,
             description);
  EncoderHeadNames heads;
  const std::string name = config.legacy_head ? "cls.predictions.transform."
                                              : "lm_predictions.lm_head.";
  heads.fill_mask = {
      .dense = name + "dense",
      .activation = encoder.activation,
      .norm = name + "LayerNorm",
      .output = "cls.predictions.decoder",
      .bias = config.legacy_head ? "cls.predictions.bias" : name + "bias",
      .width = encoder.d_model};
  ReadEncoderHead(heads, reader, tensors, description);
}

// Scores are sums of terms, and their scale counts these terms.
void ScaleByTerms(const DebertaConfig& config, StackDescription* encoder) {
  for (LayerDescription& layer : encoder->layer) {
    AttentionGeometry& geometry = layer.self_attention.geometry;
    geometry.scale = 1.0f / std::sqrt(static_cast<float>(config.terms()) *
                                      static_cast<float>(geometry.head_size));
  }
}

void ReadRelativeEmbeddings(TensorReader* tensors, StackDescription* encoder) {
  if (!encoder->relative_attention.has_value()) return;
  Relative& relative = *encoder->relative_attention;
  relative.embeddings = tensors->Required(
      "encoder.rel_embeddings.weight", {2 * relative.span, encoder->d_model});
}

// Reads the keys of the convolution beside the first layer, which version 2's
// larger models have.
void ReadConvolutionConfig(ConfigReader* config, DebertaConfig* result) {
  constexpr char kWidth[] = "conv_kernel_size";
  result->convolution_width = config->Integer(kWidth, 0, kMaxWidth).value_or(0);
  if (result->convolution_width == 0) return;
  if (result->convolution_width % 2 == 0) {
    config->Report(kWidth, config->Find(kWidth), "give an odd number");
  }
  config->Integer("conv_groups", 1, 1);
  result->convolution_activation =
      ReadActivation(config, "conv_act", Activation::kTanh);
}

void ReadConvolution(const DebertaConfig& config, TensorReader* tensors,
                     TransformerDescription* description) {
  StackDescription& encoder = *description->encoder;
  const int width = config.convolution_width;
  if (width == 0 || encoder.layer.empty()) return;
  const std::string name = "encoder.conv.";
  ConvolutionDescription& convolution =
      encoder.layer.front().convolution.emplace();
  convolution.width = width;
  convolution.activation = config.convolution_activation;
  convolution.norm = tensors->Norm(name + "LayerNorm", encoder.d_model);
  const int64_t d_model = encoder.d_model;
  convolution.product.bias = tensors->Required(name + "conv.bias", {d_model});
  const TensorView* const weight =
      tensors->Required(name + "conv.weight", {d_model, d_model, width});
  if (weight == nullptr) return;
  auto flat = std::make_shared<TensorView>(*weight);
  flat->shape = {d_model, d_model * width};
  convolution.product.weight = flat.get();
  description->memory.push_back(std::move(flat));
}

}  // namespace

FamilyModel LoadDeberta(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const reader = family.config();
  const DebertaConfig config = ReadDebertaConfig(reader);
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.encoder = config.encoder;
  TensorReader* const tensors = family.OpenTensors("deberta.");
  if (tensors == nullptr) return model;

  StackDescription& encoder = *description.encoder;
  ReadEncoderEmbeddings(tensors, encoder.d_model, &encoder);
  ReadRelativeEmbeddings(tensors, &encoder);
  const int d_model = encoder.d_model;
  EncoderLayerNames names;
  names.query.clear();
  for (int i = 0; i < encoder.layers; ++i) {
    const std::string name = fmt::format("encoder.layer.{}.", i);
    if (!HasLayer(tensors, name, i, EncoderKeys().layers, encoder)) {
      break;
    }
    const std::string self = name + "attention.self.";
    LayerDescription layer = ReadEncoderLayer(tensors, name, names, encoder);
    ReadJoinedProjections(self, tensors, &description, &layer.self_attention);
    if (config.content_to_position) {
      layer.position_key = LinearTensors{
          tensors->Required(self + "pos_proj.weight", {d_model, d_model})};
    }
    if (config.position_to_content) {
      layer.position_query =
          tensors->Linear(self + "pos_q_proj", d_model, d_model);
    }
    encoder.layer.push_back(layer);
  }
  ScaleByTerms(config, &encoder);
  ReadHeads(config, reader, tensors, &description);
  return model;
}

FamilyModel LoadDebertaV2(const nlohmann::json& json, const Weights* weights,
                          Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const reader = family.config();
  DebertaConfig config = ReadDebertaConfig(reader);
  config.share_projections = reader->Boolean("share_att_key").value_or(false);
  ReadConvolutionConfig(reader, &config);
  const int buckets =
      reader->Integer("position_buckets", -1, kMaxPositions).value_or(-1);
  const std::string norm = reader->Text("norm_rel_ebd").value_or("none");
  if (config.encoder.relative_attention && buckets > 0) {
    Relative& relative = *config.encoder.relative_attention;
    relative.buckets = Relative::Buckets::kLogarithmic;
    relative.span = buckets;
    if (buckets < 2 || relative.max_distance <= buckets / 2 + 1) {
      reader->Report("position_buckets", reader->Find("position_buckets"),
                     "give a number from 2 to twice the longest distance");
    }
  }
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.encoder = config.encoder;
  TensorReader* const tensors = family.OpenTensors("deberta.");
  if (tensors == nullptr) return model;

  StackDescription& encoder = *description.encoder;
  ReadEncoderEmbeddings(tensors, encoder.d_model, &encoder);
  ReadRelativeEmbeddings(tensors, &encoder);
  if (encoder.relative_attention &&
      ("|" + norm + "|").find("layer_norm") != std::string::npos) {
    encoder.relative_attention->norm =
        tensors->Norm("encoder.LayerNorm", encoder.d_model);
  }
  EncoderLayerNames names;
  names.query = "attention.self.query_proj";
  names.key = "attention.self.key_proj";
  names.value = "attention.self.value_proj";
  ReadEncoderLayers(tensors, "encoder.layer.", names, EncoderKeys().layers,
                    &encoder);
  for (size_t i = 0; i < encoder.layer.size(); ++i) {
    LayerDescription& layer = encoder.layer[i];
    const std::string self = fmt::format("encoder.layer.{}.attention.self.", i);
    const auto projection = [&](const LinearTensors& shared,
                                const char* name) -> LinearTensors {
      return config.share_projections
                 ? shared
                 : tensors->Linear(self + name, encoder.d_model,
                                   encoder.d_model);
    };
    if (config.content_to_position) {
      layer.position_key = projection(layer.self_attention.key, "pos_key_proj");
    }
    if (config.position_to_content) {
      layer.position_query =
          projection(layer.self_attention.query, "pos_query_proj");
    }
  }
  ReadConvolution(config, tensors, &description);
  ScaleByTerms(config, &encoder);
  ReadHeads(config, reader, tensors, &description);
  return model;
}

}  // namespace trivium
