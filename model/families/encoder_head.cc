#include "model/families/encoder_head.h"

#include <algorithm>
#include <utility>

#include "model/families/sizes.h"

namespace trivium {
namespace {

using Input = HeadDescription::Input;

constexpr std::pair<std::string_view, HeadKind> kArchitectures[] = {
    {"ForSequenceClassification", HeadKind::kClassify},
    {"ForNextSentencePrediction", HeadKind::kClassify},
    {"ForTokenClassification", HeadKind::kTag},
    {"ForQuestionAnswering", HeadKind::kAnswer},
    {"ForQuestionAnsweringSimple", HeadKind::kAnswer},
    {"ForMaskedLM", HeadKind::kFillMask},
    {"ForPreTraining", HeadKind::kFillMask},
};

HeadDescription ReadFillMask(const EncoderHeadNames::FillMask& names,
                             ConfigReader* config, TensorReader* tensors,
                             const StackDescription& encoder) {
  HeadDescription head;
  head.dense = tensors->Linear(names.dense, names.width, encoder.d_model);
  head.activation = names.activation;
  head.norm = tensors->Norm(names.norm, names.width);
  // A tied bias has another name; a checkpoint may keep both.
  std::vector<std::string> biases = {names.bias, names.output + ".bias"};
  if (config->Boolean("tie_word_embeddings").value_or(true)) {
    head.output.weight = encoder.embeddings.tokens;
  } else {
    const int width = names.output_width > 0 ? names.output_width : names.width;
    head.output.weight = tensors->Required(names.output + ".weight",
                                           {encoder.vocabulary, width});
    std::swap(biases[0], biases[1]);
  }
  head.output.bias = tensors->RequiredOneOf(biases, {encoder.vocabulary});
  return head;
}

// Returns the beginning of the names of the head's tensors, to see whether
// there are any.
std::string FirstName(const EncoderHeadNames& names, HeadKind kind) {
  switch (kind) {
    case HeadKind::kClassify:
      return names.classify.output + ".";
    case HeadKind::kTag:
      return "classifier.";
    case HeadKind::kAnswer:
      return "qa_outputs.";
    case HeadKind::kFillMask:
      return names.fill_mask.dense + ".";
    case HeadKind::kDiscriminate:
      break;
  }
  return names.discriminate->dense + ".";
}

}  // namespace

EncoderHeadNames BertHeadNames(const StackDescription& encoder,
                               ConfigReader* config) {
  EncoderHeadNames names;
  if (ArchitectureEndsWith(config, "ForNextSentencePrediction")) {
    names.classify.output = "cls.seq_relationship";
  }
  names.fill_mask = {.dense = "cls.predictions.transform.dense",
                     .activation = encoder.activation,
                     .norm = "cls.predictions.transform.LayerNorm",
                     .output = "cls.predictions.decoder",
                     .bias = "cls.predictions.bias",
                     .width = encoder.d_model};
  return names;
}

EncoderHeadNames RobertaHeadNames(const StackDescription& encoder) {
  EncoderHeadNames names;
  names.classify = {.input = Input::kFirstToken,
                    .dense = "classifier.dense",
                    .activation = Activation::kTanh,
                    .output = "classifier.out_proj"};
  names.fill_mask = {.dense = "lm_head.dense",
                     .activation = Activation::kGelu,
                     .norm = "lm_head.layer_norm",
                     .output = "lm_head.decoder",
                     .bias = "lm_head.bias",
                     .width = encoder.d_model};
  return names;
}

bool ArchitectureEndsWith(ConfigReader* config, std::string_view suffix) {
  const ConfigReader::Layer names = config->Find("architectures");
  if (names.json == nullptr || !names.json->is_array() || names.json->empty() ||
      !names.json->front().is_string()) {
    return false;
  }
  const std::string& name = names.json->front().get_ref<const std::string&>();
  return name.size() >= suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

std::optional<HeadKind> FindHeadKind(ConfigReader* config) {
  for (const auto& [suffix, kind] : kArchitectures) {
    if (ArchitectureEndsWith(config, suffix)) return kind;
  }
  return std::nullopt;
}

int LabelCount(ConfigReader* config) {
  const ConfigReader::Layer labels = config->Find("id2label");
  if (labels.json != nullptr && labels.json->is_object() &&
      !labels.json->empty() && labels.json->size() <= kMaxVocabulary) {
    return static_cast<int>(labels.json->size());
  }
  return config->Integer("num_labels", 1, kMaxVocabulary).value_or(2);
}

void ReadEncoderHead(const EncoderHeadNames& names, ConfigReader* config,
                     TensorReader* tensors,
                     TransformerDescription* description) {
  std::optional<HeadKind> kind = FindHeadKind(config);
  if (names.discriminate && ArchitectureEndsWith(config, "ForPreTraining")) {
    kind = HeadKind::kDiscriminate;
  }
  if (!kind || !tensors->HasAnyWith(FirstName(names, *kind))) return;

  const StackDescription& encoder = *description->encoder;
  const int d_model = encoder.d_model;
  HeadDescription head;
  switch (*kind) {
    case HeadKind::kClassify: {
      head.input = names.classify.input;
      int width = d_model;
      if (head.input == Input::kPooled) {
        if (!description->pooler.has_value()) {
          config->problems()->push_back(
              "weights: tensors pooler.* are missing, which the classifier "
              "reads; fetch a complete model");
          return;
        }
        const TensorView* pooler = description->pooler->dense.weight;
        if (pooler != nullptr) width = static_cast<int>(pooler->shape[0]);
      }
      if (!names.classify.dense.empty()) {
        head.dense = tensors->Linear(names.classify.dense, d_model, d_model);
        head.activation = names.classify.activation;
      }
      head.output =
          tensors->Linear(names.classify.output, LabelCount(config), width);
      break;
    }
    case HeadKind::kTag:
      head.output = tensors->Linear("classifier", LabelCount(config), d_model);
      break;
    case HeadKind::kAnswer:  // start and end
      head.output = tensors->Linear("qa_outputs", 2, d_model);
      break;
    case HeadKind::kFillMask:
      head = ReadFillMask(names.fill_mask, config, tensors, encoder);
      break;
    case HeadKind::kDiscriminate:
      head.dense = tensors->Linear(names.discriminate->dense, d_model, d_model);
      head.activation = names.discriminate->activation;
      head.output = tensors->Linear(names.discriminate->output, 1, d_model);
      break;
  }
  head.kind = *kind;
  description->head = head;
}

bool IsSequenceClassifier(ConfigReader* config) {
  return ArchitectureEndsWith(config, "ForSequenceClassification");
}

bool IsTokenClassifier(ConfigReader* config) {
  return ArchitectureEndsWith(config, "ForTokenClassification");
}

void ReadSecondReadingHead(const std::string& name, int32_t start_id,
                           int32_t end_id, ConfigReader* config,
                           TensorReader* tensors,
                           TransformerDescription* description) {
  const int d_model = description->encoder->d_model;
  const int most = description->decoder->vocabulary - 1;
  const auto id = [&](const char* key, int32_t usual) {
    return static_cast<int32_t>(
        config->Integer(key, 0, most).value_or(std::min(usual, most)));
  };
  description->second_reading = {
      .stack = *std::exchange(description->decoder, std::nullopt),
      .start_id = id("decoder_start_token_id", start_id)};
  description->output_projection = {};
  HeadDescription& head = description->head.emplace();
  head.kind = HeadKind::kClassify;
  head.input = Input::kLastToken;
  head.end_id = id("eos_token_id", end_id);
  head.dense = tensors->Linear(name + ".dense", d_model, d_model);
  head.activation = Activation::kTanh;
  head.output =
      tensors->Linear(name + ".out_proj", LabelCount(config), d_model);
}

void ReadPooler(const std::string& name, int out, Activation activation,
                TensorReader* tensors, TransformerDescription* description) {
  if (!tensors->HasAnyWith(name + ".")) return;
  description->pooler = {
      tensors->Linear(name, out, description->encoder->d_model), activation};
}

}  // namespace trivium
