#include "model/families/mobilebert.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "model/families/derived_tensors.h"
#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// PyTorch's default, for norms to which Transformers' class gives none.
constexpr float kEpsilonOfTorch = 1e-5f;

struct MobileBertOptions {
  int embedding_width = 0;
  bool trigrams = true;
  bool bottleneck = true;
  bool shared = true;  // queries and keys read a stream of their own
  int width = 0;       // of attention and feed-forwards
  int feed_forwards = 4;
  bool norms = false;  // not only factors
  bool pooler = true;
};

MobileBertOptions ReadMobileBertOptions(ConfigReader* config,
                                        StackDescription* encoder) {
  const size_t reported = config->problems()->size();
  MobileBertOptions options;
  options.embedding_width =
      config->Integer("embedding_size", 1, kMaxWidth).value_or(128);
  options.trigrams = config->Boolean("trigram_input").value_or(true);
  options.bottleneck = config->Boolean("use_bottleneck").value_or(true);
  options.width =
      config->Integer("intra_bottleneck_size", 1, kMaxWidth).value_or(128);
  if (!options.bottleneck) options.width = encoder->d_model;
  const bool all = config->Boolean("use_bottleneck_attention").value_or(false);
  options.shared =
      config->Boolean("key_query_shared_bottleneck").value_or(true);
  if (options.bottleneck && !all && !options.shared) {
    config->Report("key_query_shared_bottleneck",
                   config->Find("key_query_shared_bottleneck"),
                   "without it and use_bottleneck_attention, queries and keys "
                   "would read more numbers than their weights have");
  }
  options.shared &= options.bottleneck && !all;
  options.feed_forwards =
      config->Integer("num_feedforward_networks", 1, kMaxLayers).value_or(4);
  const std::string type =
      config->Text("normalization_type").value_or("no_norm");
  options.norms = type == "layer_norm";
  if (!options.norms && type != "no_norm") {
    config->Report("normalization_type", config->Find("normalization_type"),
                   "it must be \"no_norm\" or \"layer_norm\"");
  }
  options.pooler = config->Boolean("classifier_activation").value_or(true);
  encoder->heads = config->RequiredInteger("num_attention_heads", 1, kMaxWidth);
  if (config->problems()->size() == reported &&
      options.width % encoder->heads != 0) {
    config->Report("num_attention_heads", config->Find("num_attention_heads"),
                   fmt::format("it must divide {}, {}",
                               options.bottleneck ? "intra_bottleneck_size"
                                                  : "hidden_size",
                               options.width));
  }
  return options;
}

// Reads the tensors with this model's kind of norms.
class MobileBertLayers {
 public:
  MobileBertLayers(const MobileBertOptions& options,
                   const StackDescription& encoder, TensorReader* tensors)
      : options_(options), encoder_(encoder), tensors_(*tensors) {}

  NormTensors Norm(const std::string& name, int size,
                   std::optional<float> epsilon = std::nullopt) {
    NormTensors norm = tensors_.Norm(name, size);
    norm.kind =
        options_.norms ? NormTensors::Kind::kLayer : NormTensors::Kind::kNone;
    norm.epsilon = epsilon;
    return norm;
  }

  LayerDescription Read(const std::string& name) {
    const int width = options_.width;
    LayerDescription layer;
    AttentionDescription& attention = layer.self_attention;
    attention.geometry = AttentionGeometry::Even(width, encoder_.heads);
    const std::string self = name + "attention.self.";
    attention.query = tensors_.Linear(self + "query", width, width);
    attention.key = tensors_.Linear(self + "key", width, width);
    attention.value = tensors_.Linear(
        self + "value", width, options_.shared ? encoder_.d_model : width);
    attention.output =
        tensors_.Linear(name + "attention.output.dense", width, width);
    layer.self_attention_norms.after =
        Norm(name + "attention.output.LayerNorm", width);
    for (int i = 0; i + 1 < options_.feed_forwards; ++i) {
      const std::string one = fmt::format("{}ffn.{}.", name, i);
      FeedForwardTensors& earlier = layer.earlier_feed_forwards.emplace_back();
      earlier.up = tensors_.Linear(one + "intermediate.dense",
                                   encoder_.feed_forward, width);
      earlier.down =
          tensors_.Linear(one + "output.dense", width, encoder_.feed_forward);
      earlier.norms.after = Norm(one + "output.LayerNorm", width);
    }
    layer.up = tensors_.Linear(name + "intermediate.dense",
                               encoder_.feed_forward, width);
    layer.down =
        tensors_.Linear(name + "output.dense", width, encoder_.feed_forward);
    layer.feed_forward_norms.after =
        Norm(name + "output.LayerNorm", width, kEpsilonOfTorch);
    if (options_.bottleneck) layer.bottleneck = ReadBottleneck(name);
    return layer;
  }

 private:
  BottleneckDescription ReadBottleneck(const std::string& name) {
    const int d = encoder_.d_model, width = options_.width;
    const std::string in = name + "bottleneck.";
    const std::string out = name + "output.bottleneck.";
    BottleneckDescription bottleneck;
    bottleneck.width = width;
    bottleneck.input = tensors_.Linear(in + "input.dense", width, d);
    bottleneck.input_norm = Norm(in + "input.LayerNorm", width);
    if (options_.shared) {
      bottleneck.attention = tensors_.Linear(in + "attention.dense", width, d);
      bottleneck.attention_norm = Norm(in + "attention.LayerNorm", width);
    }
    bottleneck.output = tensors_.Linear(out + "dense", d, width);
    bottleneck.output_norm = Norm(out + "LayerNorm", d);
    return bottleneck;
  }

  const MobileBertOptions& options_;
  const StackDescription& encoder_;
  TensorReader& tensors_;
};

void ReadMobileBertEmbeddings(const MobileBertOptions& options,
                              MobileBertLayers* layers, TensorReader* tensors,
                              StackDescription* encoder) {
  const int width = options.embedding_width, d = encoder->d_model;
  EmbeddingTensors& embeddings = encoder->embeddings;
  embeddings.tokens = tensors->Required("embeddings.word_embeddings.weight",
                                        {encoder->vocabulary, width});
  embeddings.positions = tensors->Required(
      "embeddings.position_embeddings.weight", {encoder->max_positions, d});
  if (encoder->type_vocabulary > 0) {
    embeddings.types =
        tensors->Required("embeddings.token_type_embeddings.weight",
                          {encoder->type_vocabulary, d});
  }
  embeddings.trigrams = options.trigrams;
  if (options.trigrams || width != d) {
    embeddings.projects_tokens = true;
    embeddings.projection =
        tensors->Linear("embeddings.embedding_transformation", d,
                        options.trigrams ? 3 * width : width);
  }
  encoder->embedding_norm =
      layers->Norm("embeddings.LayerNorm", d, kEpsilonOfTorch);
}

// The product with the vocabulary reads d_model numbers: the embeddings of
// tokens have the first weights, a matrix of its own has the others.
void WidenOutput(int width, TensorReader* tensors,
                 TransformerDescription* description) {
  const StackDescription& encoder = *description->encoder;
  if (!description->head.has_value() ||
      description->head->kind != HeadKind::kFillMask ||
      encoder.d_model == width) {
    return;
  }
  const TensorView* const rest =
      tensors->Required("cls.predictions.dense.weight",
                        {encoder.d_model - width, encoder.vocabulary});
  const TensorView*& weight = description->head->output.weight;
  if (rest == nullptr || weight == nullptr) return;
  TensorMemory transposed;
  weight = JoinedColumns(*weight, *Transpose(*rest, &transposed),
                         &description->memory);
}

}  // namespace

FamilyModel LoadMobileBert(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  EncoderKeys keys;
  keys.heads = "";
  StackDescription& encoder =
      description.encoder.emplace(ReadEncoderConfig(config, keys));
  const MobileBertOptions options = ReadMobileBertOptions(config, &encoder);
  const int d = encoder.d_model;
  EncoderHeadNames heads = BertHeadNames(encoder, config);
  if (FindHeadKind(config) == HeadKind::kFillMask &&
      options.embedding_width > d) {
    config->Report("embedding_size", config->Find("embedding_size"),
                   fmt::format("to fill in masks it must be hidden_size, {}, "
                               "at most",
                               d));
  }
  TensorReader* const tensors = family.OpenTensors("mobilebert.");
  if (tensors == nullptr) return model;

  MobileBertLayers layers(options, encoder, tensors);
  ReadMobileBertEmbeddings(options, &layers, tensors, &encoder);
  for (int i = 0; i < encoder.layers; ++i) {
    const std::string name = fmt::format("encoder.layer.{}.", i);
    if (!HasLayer(tensors, name, i, keys.layers, encoder)) return model;
    encoder.layer.push_back(layers.Read(name));
  }
  if (options.pooler) {
    ReadPooler("pooler.dense", d, Activation::kTanh, tensors, &description);
  } else {
    heads.classify.input = HeadDescription::Input::kFirstToken;
  }
  heads.fill_mask.output_width = options.embedding_width;
  ReadEncoderHead(heads, config, tensors, &description);
  WidenOutput(options.embedding_width, tensors, &description);
  return model;
}

}  // namespace trivium
