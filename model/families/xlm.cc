#include "model/families/xlm.h"

#include <fmt/format.h>

#include <string>

#include "model/families/decoder_stack.h"
#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

using Input = HeadDescription::Input;

// The state that the classifier reads.
Input ReadSummary(ConfigReader* config) {
  const std::string type = config->Text("summary_type").value_or("first");
  if (type == "mean") return Input::kMean;
  if (type != "first") {
    config->Report("summary_type", config->Find("summary_type"),
                   "this server runs \"first\" and \"mean\" only");
  }
  return Input::kFirstToken;
}

// The classifier is one product, whose result has no activation.
void CheckClassifier(ConfigReader* config) {
  for (const char* const key : {"summary_use_proj", "summary_proj_to_labels"}) {
    RequireBoolean(config, key, true);
  }
  const ConfigReader::Layer activation = config->Find("summary_activation");
  if (activation.json != nullptr && !activation.json->is_null()) {
    config->Report("summary_activation", activation,
                   "this server runs classifiers without activation only");
  }
}

LayerDescription ReadLayer(TensorReader* tensors, int i, bool pre_norm,
                           const StackDescription& stack) {
  const int d_model = stack.d_model;
  LayerDescription layer;
  AttentionDescription& attention = layer.self_attention;
  attention.geometry = AttentionGeometry::Even(d_model, stack.heads);
  const auto linear = [&](const char* part, const char* name, int out, int in) {
    return tensors->Linear(fmt::format("{}.{}.{}", part, i, name), out, in);
  };
  attention.query = linear("attentions", "q_lin", d_model, d_model);
  attention.key = linear("attentions", "k_lin", d_model, d_model);
  attention.value = linear("attentions", "v_lin", d_model, d_model);
  attention.output = linear("attentions", "out_lin", d_model, d_model);
  layer.up = linear("ffns", "lin1", stack.feed_forward, d_model);
  layer.down = linear("ffns", "lin2", d_model, stack.feed_forward);
  const auto norm = [&](const char* name, SublayerNorms* norms) {
    (pre_norm ? norms->before : norms->after) =
        tensors->Norm(fmt::format("{}.{}", name, i), d_model);
  };
  norm("layer_norm1", &layer.self_attention_norms);
  norm("layer_norm2", &layer.feed_forward_norms);
  return layer;
}

}  // namespace

FamilyModel LoadXlm(const nlohmann::json& json, const Weights* weights,
                    Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  StackDescription& encoder = description.encoder.emplace();
  const size_t reported = problems->size();
  encoder.layers = config->RequiredInteger("n_layers", 1, kMaxLayers);
  encoder.d_model = config->RequiredInteger("emb_dim", 1, kMaxWidth / 4);
  encoder.heads = config->RequiredInteger("n_heads", 1, kMaxWidth);
  if (problems->size() == reported && encoder.d_model % encoder.heads != 0) {
    config->Report("n_heads", config->Find("n_heads"),
                   fmt::format("it must divide emb_dim, {}", encoder.d_model));
  }
  encoder.feed_forward = 4 * encoder.d_model;
  // Early folders have n_words alone.
  encoder.vocabulary = config->RequiredInteger(
      config->Find("vocab_size").json != nullptr ? "vocab_size" : "n_words", 1,
      kMaxVocabulary);
  encoder.max_positions =
      config->RequiredInteger("max_position_embeddings", 1, kMaxPositions);
  encoder.norm_epsilon =
      static_cast<float>(config->Real("layer_norm_eps", 0, 1).value_or(1e-12));
  encoder.activation = config->Boolean("gelu_activation").value_or(true)
                           ? Activation::kGelu
                           : Activation::kRelu;
  encoder.positions = PositionEncoding::kLearned;
  const bool pre_norm = config->Boolean("pre_norm").value_or(false);
  RequireBoolean(config, "causal", false);
  RequireBoolean(config, "is_encoder", true);
  const bool classifies = IsSequenceClassifier(config);
  if (classifies) CheckClassifier(config);
  const Input summary = classifies ? ReadSummary(config) : Input::kFirstToken;
  if (ArchitectureEndsWith(config, "ForQuestionAnswering")) {
    config->Report("architectures", config->Find("architectures"),
                   "this server runs this family's ForQuestionAnsweringSimple "
                   "only, which has no search over beginnings");
  }
  const bool fills = ArchitectureEndsWith(config, "WithLMHeadModel");
  if (fills) RequireBoolean(config, "asm", false);

  TensorReader* const tensors = family.OpenTensors("transformer.");
  if (tensors == nullptr) return model;
  const int d_model = encoder.d_model;
  encoder.embeddings.tokens =
      tensors->Required("embeddings.weight", {encoder.vocabulary, d_model});
  encoder.embeddings.positions = tensors->Required(
      "position_embeddings.weight", {encoder.max_positions, d_model});
  encoder.embedding_norm = tensors->Norm("layer_norm_emb", d_model);
  for (int i = 0; i < encoder.layers; ++i) {
    if (!HasLayer(tensors, fmt::format("attentions.{}.", i), i, "n_layers",
                  encoder)) {
      return model;
    }
    encoder.layer.push_back(ReadLayer(tensors, i, pre_norm, encoder));
  }
  if (fills) {
    if (!tensors->HasAnyWith("pred_layer.")) return model;
    HeadDescription& head = description.head.emplace();
    head.kind = HeadKind::kFillMask;
    head.output.weight = config->Boolean("tie_word_embeddings").value_or(true)
                             ? encoder.embeddings.tokens
                             : tensors->Required("pred_layer.proj.weight",
                                                 {encoder.vocabulary, d_model});
    head.output.bias =
        tensors->Required("pred_layer.proj.bias", {encoder.vocabulary});
    return model;
  }
  EncoderHeadNames heads;
  heads.classify.input = summary;
  heads.classify.output = "sequence_summary.summary";
  ReadEncoderHead(heads, config, tensors, &description);
  return model;
}

}  // namespace trivium
