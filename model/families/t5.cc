#include "model/families/t5.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/derived_tensors.h"
#include "model/families/encoder_head.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// No text is too long for an attention that knows only distances, but a limit
// is needed. Trained on 512 tokens, T5 is given a few thousand at most, and
// LongT5 16,384.
constexpr int kPositions = 4096;
constexpr int kLongPositions = 16384;

struct T5Config {
  StackDescription encoder;
  StackDescription decoder;
  AttentionGeometry geometry;
  bool gated = false;
  bool scaled_output = false;  // scaled by 1 / sqrt(d_model)
  bool each_has_bias = false;  // each layer its own, see LoadUmt5
  int radius = 0;  // tokens that the encoder sees on either side; 0: all
  int block = 0;   // tokens of BlockKeysDescription; 0: there is none
};

// Differences between the members of the family.
struct T5Options {
  // Activation if config.json names none, as in feed_forward_proj.
  std::string feed_forward = "relu";
  bool may_scale = true;  // see T5Config::scaled_output
  bool each_has_bias = false;
  bool local = false;  // see LoadLongT5
};

// Reads "relu", "gated-gelu", "gated-silu"...: an activation, perhaps of a
// gate. In Transformers, "gelu" means its tanh approximation here if there is a
// gate. dense_act_fn and is_gated_act, which Transformers makes of it and saves
// beside it, count more.
Activation ReadFeedForward(ConfigReader* config, const std::string& usual,
                           bool* gated) {
  constexpr char kKey[] = "feed_forward_proj";
  constexpr std::string_view kGated = "gated-";
  const std::string text = config->Text(kKey).value_or(usual);
  *gated = text.starts_with(kGated);
  const std::string name = *gated ? text.substr(kGated.size()) : text;
  Activation activation = Activation::kRelu;
  if (*gated && name == "gelu") {
    activation = Activation::kGeluTanh;
  } else if (const auto found = FindActivation(name)) {
    activation = *found;
  } else {
    config->Report(kKey, config->Find(kKey),
                   "give \"relu\", \"gated-gelu\" or another activation by "
                   "name");
  }
  *gated = config->Boolean("is_gated_act").value_or(*gated);
  return ReadActivation(config, "dense_act_fn", activation);
}

// Reads what LongT5's encoder sees.
void ReadSeen(ConfigReader* config, T5Config* result) {
  constexpr char kKey[] = "encoder_attention_type";
  const std::string type = config->Text(kKey).value_or("local");
  if (type != "local" && type != "transient-global") {
    config->Report(kKey, config->Find(kKey),
                   "it must be \"local\" or \"transient-global\"");
  }
  result->radius =
      config->Integer("local_radius", 1, kMaxPositions).value_or(127);
  const int block =
      config->Integer("global_block_size", 1, kMaxPositions).value_or(16);
  if (type == "transient-global") result->block = block;
}

T5Config ReadT5Config(ConfigReader* config, const T5Options& options) {
  if (!IsSequenceClassifier(config) && !IsTokenClassifier(config)) {
    RefuseOtherHeads(config);
  }
  T5Config result;
  result.each_has_bias = options.each_has_bias;
  StackDescription& stack = result.encoder;
  stack.layers = config->RequiredInteger("num_layers", 1, kMaxLayers);
  stack.d_model = config->RequiredInteger("d_model", 1, kMaxWidth);
  stack.heads = config->RequiredInteger("num_heads", 1, kMaxWidth);
  stack.feed_forward = config->RequiredInteger("d_ff", 1, kMaxWidth);
  stack.vocabulary = config->RequiredInteger("vocab_size", 1, kMaxVocabulary);
  stack.max_positions = options.local ? kLongPositions : kPositions;
  if (options.local) ReadSeen(config, &result);
  stack.activation =
      ReadFeedForward(config, options.feed_forward, &result.gated);
  stack.norm_epsilon = static_cast<float>(
      config->Real("layer_norm_epsilon", 0, 1).value_or(1e-6));
  stack.positions = PositionEncoding::kNone;

  RelativeAttentionDescription relative;
  relative.buckets = RelativeAttentionDescription::Buckets::kT5;
  constexpr char kBuckets[] = "relative_attention_num_buckets";
  constexpr char kFarthest[] = "relative_attention_max_distance";
  relative.span = config->Integer(kBuckets, 4, kMaxPositions).value_or(32);
  relative.max_distance =
      config->Integer(kFarthest, 2, kMaxPositions).value_or(128);
  if (relative.max_distance <= relative.span / 2) {
    config->Report(kFarthest, config->Find(kFarthest),
                   fmt::format("it must exceed half of {}, {}", kBuckets,
                               relative.span / 2));
  }
  stack.relative_attention = relative;

  AttentionGeometry& geometry = result.geometry;
  geometry.heads = geometry.kv_heads = stack.heads;
  geometry.head_size = config->RequiredInteger("d_kv", 1, kMaxWidth);
  geometry.scale = 1;

  result.decoder = stack;
  result.decoder.layers = config->Integer("num_decoder_layers", 1, kMaxLayers)
                              .value_or(stack.layers);
  result.decoder.relative_attention->buckets =
      RelativeAttentionDescription::Buckets::kT5Past;
  // Folders show it by whether the output is tied, that is, by whether they
  // have an lm_head.weight. Transformers 5 writes it under its own name.
  const bool tied = config->Boolean("tie_word_embeddings").value_or(true);
  result.scaled_output =
      options.may_scale &&
      config->Boolean("scale_decoder_outputs").value_or(tied);
  return result;
}

class T5Reader {
 public:
  T5Reader(const T5Config& config, TensorReader* tensors)
      : config_(config), tensors_(tensors) {}

  void Read(const std::string& side, StackDescription* stack) const {
    const bool decoder = side == "decoder";
    if (!config_.each_has_bias) {
      stack->relative_attention->bias = Bias(side + ".block.0.layer.", decoder);
    }
    if (config_.block > 0 && !decoder) {
      stack->relative_attention->block_bias =
          BiasTable("encoder.block.0.layer." + SelfAttention(decoder) +
                    ".global_relative_attention_bias.weight");
    }
    for (int i = 0; i < stack->layers; ++i) {
      const std::string name = fmt::format("{}.block.{}.layer.", side, i);
      if (!tensors_->HasAnyWith(name)) {
        tensors_->problems()->push_back(fmt::format(
            "config.json: {} is {}, but the weights have only {} layers; take "
            "both files from the same model",
            decoder ? "num_decoder_layers" : "num_layers", stack->layers, i));
        return;
      }
      stack->layer.push_back(Layer(name, decoder));
      if (config_.each_has_bias) {
        stack->layer.back().position_bias = Bias(name, decoder);
      }
    }
    stack->final_norm = Norm(side + ".final_layer_norm");
  }

 private:
  LayerDescription Layer(const std::string& name, bool decoder) const {
    LayerDescription layer;
    AttentionGeometry geometry = config_.geometry;
    const AttentionGeometry cross = geometry;
    if (decoder) {
      geometry.look_ahead = 0;
    } else if (config_.radius > 0) {
      geometry.look_back = geometry.look_ahead = config_.radius;
    }
    layer.self_attention = Attention(name + SelfAttention(decoder), geometry);
    if (config_.block > 0 && !decoder) {
      layer.self_attention.blocks = {
          config_.block,
          Norm(name + SelfAttention(decoder) + ".global_input_layer_norm")};
    }
    layer.self_attention_norms.before = Norm(name + "0.layer_norm");
    if (decoder) {
      layer.cross_attention = Attention(name + "1.EncDecAttention", cross);
      layer.cross_attention_norms.before = Norm(name + "1.layer_norm");
    }
    const std::string last = name + (decoder ? "2." : "1.");
    const std::string dense = last + "DenseReluDense.";
    const int d_model = config_.encoder.d_model;
    const int width = config_.encoder.feed_forward;
    if (config_.gated) {
      layer.gate = Linear(dense + "wi_0", width, d_model);
      layer.up = Linear(dense + "wi_1", width, d_model);
    } else {
      // GGUF files do not tell this layer from the gated one's second.
      layer.up = {tensors_->RequiredOneOf(
          {dense + "wi.weight", dense + "wi_1.weight"}, {width, d_model})};
    }
    layer.down = Linear(dense + "wo", d_model, width);
    layer.feed_forward_norms.before = Norm(last + "layer_norm");
    return layer;
  }

  AttentionDescription Attention(const std::string& name,
                                 const AttentionGeometry& geometry) const {
    const int d_model = config_.encoder.d_model;
    const int width = geometry.query_width();
    return {geometry, Linear(name + ".q", width, d_model),
            Linear(name + ".k", width, d_model),
            Linear(name + ".v", width, d_model),
            Linear(name + ".o", d_model, width)};
  }

  std::string SelfAttention(bool decoder) const {
    if (config_.radius == 0 || decoder) return "0.SelfAttention";
    return config_.block > 0 ? "0.TransientGlobalSelfAttention"
                             : "0.LocalSelfAttention";
  }

  const TensorView* Bias(const std::string& name, bool decoder) const {
    return BiasTable(name + SelfAttention(decoder) +
                     ".relative_attention_bias.weight");
  }

  const TensorView* BiasTable(const std::string& name) const {
    const StackDescription& stack = config_.encoder;
    return tensors_->Required(name,
                              {stack.relative_attention->span, stack.heads});
  }

  LinearTensors Linear(const std::string& name, int out, int in) const {
    return {tensors_->Required(name + ".weight", {out, in})};
  }

  NormTensors Norm(const std::string& name) const {
    return {.weight =
                tensors_->Required(name + ".weight", {config_.encoder.d_model}),
            .kind = NormTensors::Kind::kRms};
  }

  const T5Config& config_;
  TensorReader* const tensors_;
};

// One table of tokens; the output has its own if the weights have one.
void ReadEmbeddings(TensorReader* tensors,
                    TransformerDescription* description) {
  StackDescription& encoder = *description->encoder;
  const std::vector<int64_t> shape = {encoder.vocabulary, encoder.d_model};
  const TensorView* const shared =
      tensors->RequiredOneOf({"shared.weight", "encoder.embed_tokens.weight",
                              "decoder.embed_tokens.weight"},
                             shape);
  encoder.embeddings.tokens = shared;
  if (!description->decoder) return;
  description->decoder->embeddings.tokens = shared;
  constexpr char kOutput[] = "lm_head.weight";
  description->output_projection.weight =
      tensors->Has(kOutput) ? tensors->Required(kOutput, shape) : shared;
}

FamilyModel Load(const T5Options& options, const nlohmann::json& json,
                 const Weights* weights, Problems* problems) {
  FamilyReader family(json, weights, problems);
  const T5Config config = ReadT5Config(family.config(), options);
  FamilyModel model;
  model.generation_defaults = {{"decoder_start_token_id", 0},
                               {"eos_token_id", 1}};
  const bool classifies = IsSequenceClassifier(family.config());
  const bool tags = IsTokenClassifier(family.config());
  TensorReader* const tensors =
      family.OpenTensors(classifies || tags ? "transformer." : "");
  if (tensors == nullptr) return model;
  TransformerDescription& description = model.description;
  description.encoder = config.encoder;
  // The encoder alone tags or makes embeddings (T5EncoderModel: sentence-t5,
  // gtr-t5).
  const bool decodes =
      !tags && !ArchitectureEndsWith(family.config(), "EncoderModel");
  if (decodes) description.decoder = config.decoder;
  ReadEmbeddings(tensors, &description);
  const T5Reader reader(config, tensors);
  reader.Read("encoder", &*description.encoder);
  if (tags) {
    ReadEncoderHead(/*names=*/{}, family.config(), tensors, &description);
  }
  if (!decodes) return model;
  reader.Read("decoder", &*description.decoder);
  if (classifies) {
    ReadSecondReadingHead("classification_head", /*start_id=*/0, /*end_id=*/1,
                          family.config(), tensors, &description);
    return model;
  }
  // A factor of the output projection's input moves into the norm before it.
  std::optional<NormTensors>& norm = description.decoder->final_norm;
  if (config.scaled_output && norm && norm->weight != nullptr) {
    const float factor =
        1 / std::sqrt(static_cast<float>(config.decoder.d_model));
    norm->weight = Scaled(*norm->weight, factor, &description.memory);
  }
  return model;
}

}  // namespace

FamilyModel LoadT5(const nlohmann::json& config, const Weights* weights,
                   Problems* problems) {
  return Load({}, config, weights, problems);
}

FamilyModel LoadMt5(const nlohmann::json& config, const Weights* weights,
                    Problems* problems) {
  return Load({.may_scale = false}, config, weights, problems);
}

FamilyModel LoadLongT5(const nlohmann::json& config, const Weights* weights,
                       Problems* problems) {
  return Load({.local = true}, config, weights, problems);
}

FamilyModel LoadUmt5(const nlohmann::json& config, const Weights* weights,
                     Problems* problems) {
  return Load({.feed_forward = "gated-gelu", .each_has_bias = true}, config,
              weights, problems);
}

}  // namespace trivium
