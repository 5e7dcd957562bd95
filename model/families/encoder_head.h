#ifndef TRIVIUM_MODEL_FAMILIES_ENCODER_HEAD_H_
#define TRIVIUM_MODEL_FAMILIES_ENCODER_HEAD_H_

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

// Reads the pooler `name`, [out, d_model], if the weights have it.
void ReadPooler(const std::string& name, int out, Activation activation,
                TensorReader* tensors, TransformerDescription* description);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_ENCODER_HEAD_H_
