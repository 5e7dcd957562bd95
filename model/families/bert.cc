#include "model/families/bert.h"

#include <string>

#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

constexpr char kLayers[] = "encoder.layer.";

void ReadTensors(TensorReader* tensors, TransformerDescription* description) {
  StackDescription* encoder = &*description->encoder;
  ReadEncoderEmbeddings(tensors, encoder->d_model, encoder);
  ReadEncoderLayers(tensors, kLayers, EncoderLayerNames(), EncoderKeys().layers,
                    encoder);
  ReadPooler("pooler.dense", encoder->d_model, Activation::kTanh, tensors,
             description);
}

}  // namespace

FamilyModel LoadBert(const nlohmann::json& json, const Weights* weights,
                     Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.encoder = ReadEncoderConfig(config);
  TensorReader* const tensors = family.OpenTensors("bert.");
  if (tensors == nullptr) return model;
  ReadTensors(tensors, &description);

  EncoderHeadNames heads;
  if (ArchitectureEndsWith(config, "ForNextSentencePrediction")) {
    heads.classify.output = "cls.seq_relationship";
  }
  heads.fill_mask = {.dense = "cls.predictions.transform.dense",
                     .activation = description.encoder->activation,
                     .norm = "cls.predictions.transform.LayerNorm",
                     .output = "cls.predictions.decoder",
                     .bias = "cls.predictions.bias",
                     .width = description.encoder->d_model};
  ReadEncoderHead(heads, config, tensors, &description);
  return model;
}

FamilyModel LoadDpr(const nlohmann::json& json, const Weights* weights,
                    Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  model.description.encoder = ReadEncoderConfig(config);
  if (ArchitectureEndsWith(config, "Reader")) {
    config->Report("architectures", config->Find("architectures"),
                   "this server runs DPR's encoders of questions and of "
                   "passages only");
  }
  if (config->Integer("projection_dim", 0, kMaxWidth).value_or(0) != 0) {
    config->Report("projection_dim", config->Find("projection_dim"),
                   "this server runs 0 only, a model without a projection");
  }
  const std::string prefix =
      PrefixOf(weights, {"question_encoder.bert_model.",
                         "ctx_encoder.bert_model.", "bert_model."});
  if (TensorReader* const tensors = family.OpenTensors(prefix)) {
    ReadTensors(tensors, &model.description);
  }
  return model;
}

FamilyModel LoadRoberta(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.encoder = ReadEncoderConfig(config);
  UseRobertaPositions(
      config, config->Integer("pad_token_id", 0, kMaxVocabulary).value_or(1),
      &*description.encoder);
  // RoBERTa's relatives keep its name.
  TensorReader* const tensors = family.OpenTensors("roberta.");
  if (tensors == nullptr) return model;
  ReadTensors(tensors, &description);
  ReadEncoderHead(RobertaHeadNames(*description.encoder), config, tensors,
                  &description);
  return model;
}

}  // namespace trivium
