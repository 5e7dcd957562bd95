#include "model/families/pre_norm_bert.h"

#include <string>

#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

struct PreNormNames {
  std::string prefix;
  std::string embedding_norm;  // empty: none
  std::string attention_norm;
  std::string feed_forward_norm;
  std::string final_norm;
  bool roberta = true;  // positions and heads are RoBERTa's, else BERT's
};

FamilyModel LoadPreNorm(const PreNormNames& names, const nlohmann::json& json,
                        const Weights* weights, Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  StackDescription& encoder =
      description.encoder.emplace(ReadEncoderConfig(config));
  if (names.roberta) {
    UseRobertaPositions(
        config, config->Integer("pad_token_id", 0, kMaxVocabulary).value_or(1),
        &encoder);
  }
  TensorReader* const tensors = family.OpenTensors(names.prefix);
  if (tensors == nullptr) return model;
  ReadEncoderEmbeddings(tensors, encoder.d_model, &encoder,
                        names.embedding_norm);
  EncoderLayerNames layers;
  layers.attention_norm = names.attention_norm;
  layers.feed_forward_norm = names.feed_forward_norm;
  layers.norms_before = true;
  ReadEncoderLayers(tensors, "encoder.layer.", layers, EncoderKeys().layers,
                    &encoder);
  encoder.final_norm = tensors->Norm(names.final_norm, encoder.d_model);
  ReadPooler("pooler.dense", encoder.d_model, Activation::kTanh, tensors,
             &description);
  ReadEncoderHead(names.roberta ? RobertaHeadNames(encoder)
                                : BertHeadNames(encoder, config),
                  config, tensors, &description);
  return model;
}

}  // namespace

FamilyModel LoadMegatronBert(const nlohmann::json& config,
                             const Weights* weights, Problems* problems) {
  return LoadPreNorm({.prefix = "bert.",
                      .embedding_norm = "",
                      .attention_norm = "attention.ln",
                      .feed_forward_norm = "ln",
                      .final_norm = "encoder.ln",
                      .roberta = false},
                     config, weights, problems);
}

FamilyModel LoadXlmRobertaXl(const nlohmann::json& config,
                             const Weights* weights, Problems* problems) {
  return LoadPreNorm({.prefix = "roberta.",
                      .embedding_norm = "",
                      .attention_norm = "attention.self_attn_layer_norm",
                      .feed_forward_norm = "LayerNorm",
                      .final_norm = "encoder.LayerNorm"},
                     config, weights, problems);
}

FamilyModel LoadRobertaPreLayerNorm(const nlohmann::json& config,
                                    const Weights* weights,
                                    Problems* problems) {
  return LoadPreNorm({.prefix = "roberta_prelayernorm.",
                      .embedding_norm = "embeddings.LayerNorm",
                      .attention_norm = "attention.LayerNorm",
                      .feed_forward_norm = "intermediate.LayerNorm",
                      .final_norm = "LayerNorm"},
                     config, weights, problems);
}

}  // namespace trivium
