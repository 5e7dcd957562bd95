#ifndef TRIVIUM_MODEL_FAMILIES_ENCODER_HEAD_H_
#define TRIVIUM_MODEL_FAMILIES_ENCODER_HEAD_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/config_reader.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// A family's names of the tensors of its heads, and the layers between the
// final states and the last product. Token classification ("classifier") and
// question answering ("qa_outputs") are the same in all families.
struct EncoderHeadNames {
  // Sequence classification.
  struct Classify {
    HeadDescription::Input input = HeadDescription::Input::kPooled;
    std::string dense;  // empty: none
    Activation activation = Activation::kTanh;
    std::string output = "classifier";
  } classify;
  // Masked language model, `width` wide before the product with the vocabulary.
  struct FillMask {
    std::string dense;
    Activation activation = Activation::kGelu;
    std::string norm;
    std::string output;  // .weight unless tied
    std::string bias;    // the full name
    int width = 0;
    int output_width = 0;  // of an untied .weight; 0: the same
  } fill_mask;
  // ELECTRA's discriminator, for the family in which "ForPreTraining" means
  // one.
  struct Discriminate {
    std::string dense;
    Activation activation = Activation::kGelu;
    std::string output;
  };
  std::optional<Discriminate> discriminate;
};

// BERT's names, which other families adopted. `config` tells whether the
// classifier is that of next sentences.
EncoderHeadNames BertHeadNames(const StackDescription& encoder,
                               ConfigReader* config);
// RoBERTa's names, which other families adopted.
EncoderHeadNames RobertaHeadNames(const StackDescription& encoder);

// True if config.json names an architecture that ends with `suffix`
// ("ForSequenceClassification").
bool ArchitectureEndsWith(ConfigReader* config, std::string_view suffix);

// Returns the kind of head that config.json's `architectures` names, if any.
std::optional<HeadKind> FindHeadKind(ConfigReader* config);

// Returns the number of labels: of id2label, num_labels or, as in Transformers,
// two.
int LabelCount(ConfigReader* config);

// Reads the head that config.json's `architectures` names, if the weights have
// it: folders of bare encoders often name an architecture whose head they lack.
// `description` must have its encoder.
void ReadEncoderHead(const EncoderHeadNames& names, ConfigReader* config,
                     TensorReader* tensors,
                     TransformerDescription* description);

// True if config.json names a classifier of whole texts.
bool IsSequenceClassifier(ConfigReader* config);
// True if config.json names a classifier of tokens.
bool IsTokenClassifier(ConfigReader* config);

// Makes a classifier of an encoder-decoder, whose tensors have been read: the
// decoder reads each text once more, and the head its state at the text's end
// token: `name`.dense, tanh, `name`.out_proj. `start_id` and `end_id` are the
// family's, if config.json names none. Like BartForSequenceClassification and
// T5ForSequenceClassification of Transformers.
void ReadSecondReadingHead(const std::string& name, int32_t start_id,
                           int32_t end_id, ConfigReader* config,
                           TensorReader* tensors,
                           TransformerDescription* description);

// Reads the pooler `name`, [out, d_model], if the weights have it.
void ReadPooler(const std::string& name, int out, Activation activation,
                TensorReader* tensors, TransformerDescription* description);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_ENCODER_HEAD_H_
