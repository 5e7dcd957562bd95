#include "model/families/eurobert.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/families/encoder_head.h"
#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

using Input = HeadDescription::Input;

// "late" classifies every token and takes the mean of that, which is the
// classification of the mean of what the classifier reads.
Input ReadEuroBertPooling(ConfigReader* config) {
  constexpr std::pair<std::string_view, Input> kPoolings[] = {
      {"bos", Input::kFirstToken},
      {"mean", Input::kMean},
      {"late", Input::kMeanOfDense}};
  // The model's own code has the second name.
  const char* key = config->Find("classifier_pooling").json != nullptr
                        ? "classifier_pooling"
                        : "clf_pooling";
  const std::string name = config->Text(key).value_or("late");
  for (const auto& [known, pooling] : kPoolings) {
    if (known == name) return pooling;
  }
  config->Report(key, config->Find(key), "give \"bos\", \"mean\" or \"late\"");
  return Input::kMeanOfDense;
}

struct EuroBertHead {
  Input pooling = Input::kMeanOfDense;
  bool tied = false;
  bool output_bias = false;  // of the output for masks
};

void ReadEuroBertHead(const EuroBertHead& names, ConfigReader* config,
                      TensorReader* tensors,
                      TransformerDescription* description) {
  const std::optional<HeadKind> kind = FindHeadKind(config);
  if (!kind || *kind == HeadKind::kAnswer) return;
  const StackDescription& encoder = *description->encoder;
  const int d_model = encoder.d_model;
  HeadDescription head;
  head.kind = *kind;
  if (*kind == HeadKind::kFillMask) {
    if (!names.tied && !tensors->HasAnyWith("lm_head.")) return;
    head.output = {names.tied
                       ? encoder.embeddings.tokens
                       : tensors->Required("lm_head.weight",
                                           {encoder.vocabulary, d_model})};
    if (names.output_bias) {
      head.output.bias =
          tensors->Required("lm_head.bias", {encoder.vocabulary});
    }
  } else {
    if (!tensors->HasAnyWith("classifier.")) return;
    if (*kind == HeadKind::kClassify) {
      head.input = names.pooling;
      head.dense = tensors->Linear("dense", d_model, d_model);
      head.activation = Activation::kGelu;
    }
    head.output = tensors->Linear("classifier", LabelCount(config), d_model);
  }
  description->head = head;
}

}  // namespace

FamilyModel LoadEuroBert(const nlohmann::json& json, const Weights* weights,
                         Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  StackDescription& encoder = description.encoder.emplace(ReadLlamaConfig(
      config, {.epsilon = 1e-5, .any_head = true, .both_ways = true},
      &geometry));
  geometry.look_ahead = kAllKeys;
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &encoder);
  LlamaTensors has;
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  has.feed_forward_bias = config->Boolean("mlp_bias").value_or(false);
  // The split of the products in training; their sums are the same.
  config->Integer("pretraining_tp", 1, kMaxWidth);
  const EuroBertHead head = {
      .pooling = ReadEuroBertPooling(config),
      .tied = config->Boolean("tie_word_embeddings").value_or(false),
      .output_bias = has.feed_forward_bias};
  TensorReader* const tensors = family.OpenTensors("model.");
  if (tensors == nullptr) return model;

  ReadLlamaTensors(tensors, has,
                   std::vector<AttentionGeometry>(encoder.layers, geometry),
                   &encoder);
  ReadEuroBertHead(head, config, tensors, &description);
  return model;
}

}  // namespace trivium
