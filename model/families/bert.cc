#include "model/families/bert.h"

#include <string>

#include "model/families/derived_tensors.h"
#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/jina_bert.h"
#include "model/families/sizes.h"
#include "model/families/xlm_roberta_flash.h"

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
  if (json.is_object() &&
      json.value("position_embedding_type", nlohmann::json()) == "alibi") {
    return LoadJinaBert(json, weights, problems);
  }
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.encoder = ReadEncoderConfig(config);
  TensorReader* const tensors = family.OpenTensors("bert.");
  if (tensors == nullptr) return model;
  ReadTensors(tensors, &description);

  ReadEncoderHead(BertHeadNames(*description.encoder, config), config, tensors,
                  &description);
  return model;
}

FamilyModel LoadErnie(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  StackDescription& encoder =
      description.encoder.emplace(ReadEncoderConfig(config));
  const bool tasks = config->Boolean("use_task_id").value_or(false);
  const int task_count =
      config->Integer("task_type_vocab_size", 1, kMaxPositions).value_or(3);
  TensorReader* const tensors = family.OpenTensors("ernie.");
  if (tensors == nullptr) return model;
  ReadTensors(tensors, &description);
  if (tasks) {
    // Every token's task is 0.
    const TensorView* const task =
        tensors->Required("embeddings.task_type_embeddings.weight",
                          {task_count, encoder.d_model});
    const TensorView*& types = encoder.embeddings.types;
    if (task != nullptr && types != nullptr) {
      types = PlusRow(*types, *task, 0, &description.memory);
    }
  }
  ReadEncoderHead(BertHeadNames(encoder, config), config, tensors,
                  &description);
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
  if (IsXlmRobertaFlash(json, weights)) {
    return LoadXlmRobertaFlash(json, weights, problems);
  }
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.encoder = ReadEncoderConfig(config);
  UseRobertaPositions(
      config, config->Integer("pad_token_id", 0, kMaxVocabulary).value_or(1),
      &*description.encoder);
  // RoBERTa's relatives keep its name, but for data2vec.
  TensorReader* const tensors =
      family.OpenTensors(PrefixOf(weights, {"roberta.", "data2vec_text."}));
  if (tensors == nullptr) return model;
  ReadTensors(tensors, &description);
  ReadEncoderHead(RobertaHeadNames(*description.encoder), config, tensors,
                  &description);
  return model;
}

}  // namespace trivium
