#include "model/families/bert.h"

#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

constexpr char kLayers[] = "encoder.layer.";

void ReadTensors(TensorReader* tensors, Problems* problems,
                 TransformerDescription* description) {
  StackDescription* encoder = &*description->encoder;
  ReadEncoderEmbeddings(tensors, encoder->d_model, encoder);
  ReadEncoderLayers(tensors, kLayers, EncoderLayerNames(), EncoderKeys().layers,
                    problems, encoder);
  ReadPooler("pooler.dense", encoder->d_model, Activation::kTanh, tensors,
             description);
}

}  // namespace

FamilyModel LoadBert(const nlohmann::json& json, const Weights* weights,
                     Problems* problems) {
  ConfigReader config({{"config.json", &json}}, problems);
  const size_t reported = problems->size();
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.encoder = ReadEncoderConfig(&config);
  // Without usable sizes there is nothing to compare the tensors with.
  if (weights == nullptr || problems->size() > reported) return model;
  TensorReader tensors(*weights, {"bert."}, problems);
  ReadTensors(&tensors, problems, &description);

  EncoderHeadNames heads;
  if (ArchitectureEndsWith(&config, "ForNextSentencePrediction")) {
    heads.classify.output = "cls.seq_relationship";
  }
  heads.fill_mask = {.dense = "cls.predictions.transform.dense",
                     .activation = description.encoder->activation,
                     .norm = "cls.predictions.transform.LayerNorm",
                     .output = "cls.predictions.decoder",
                     .bias = "cls.predictions.bias",
                     .width = description.encoder->d_model};
  ReadEncoderHead(heads, &config, &tensors, &description);
  return model;
}

FamilyModel LoadRoberta(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  ConfigReader config({{"config.json", &json}}, problems);
  const size_t reported = problems->size();
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.encoder = ReadEncoderConfig(&config);
  UseRobertaPositions(
      &config, config.Integer("pad_token_id", 0, kMaxVocabulary).value_or(1),
      &*description.encoder);
  if (weights == nullptr || problems->size() > reported) return model;
  // The relatives keep the name.
  TensorReader tensors(*weights, {"roberta."}, problems);
  ReadTensors(&tensors, problems, &description);

  EncoderHeadNames heads;
  heads.classify = {.input = HeadDescription::Input::kFirstToken,
                    .dense = "classifier.dense",
                    .activation = Activation::kTanh,
                    .output = "classifier.out_proj"};
  heads.fill_mask = {.dense = "lm_head.dense",
                     .activation = Activation::kGelu,
                     .norm = "lm_head.layer_norm",
                     .output = "lm_head.decoder",
                     .bias = "lm_head.bias",
                     .width = description.encoder->d_model};
  ReadEncoderHead(heads, &config, &tensors, &description);
  return model;
}

}  // namespace trivium
