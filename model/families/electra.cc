#include "model/families/electra.h"

#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {

FamilyModel LoadElectra(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.encoder = ReadEncoderConfig(config);
  StackDescription& encoder = *description.encoder;
  const int width =
      config->Integer("embedding_size", 1, kMaxWidth).value_or(128);
  TensorReader* const tensors = family.OpenTensors("electra.");
  if (tensors == nullptr) return model;

  ReadProjectedEmbeddings(tensors, width, &encoder);
  ReadEncoderLayers(tensors, "encoder.layer.", EncoderLayerNames(),
                    EncoderKeys().layers, &encoder);
  EncoderHeadNames heads;
  heads.classify = {.input = HeadDescription::Input::kFirstToken,
                    .dense = "classifier.dense",
                    .activation = Activation::kGelu,
                    .output = "classifier.out_proj"};
  heads.fill_mask = {.dense = "generator_predictions.dense",
                     .activation = Activation::kGelu,
                     .norm = "generator_predictions.LayerNorm",
                     .output = "generator_lm_head",
                     .bias = "generator_lm_head.bias",
                     .width = width};
  heads.discriminate = {.dense = "discriminator_predictions.dense",
                        .activation = encoder.activation,
                        .output = "discriminator_predictions.dense_prediction"};
  ReadEncoderHead(heads, config, tensors, &description);
  return model;
}

}  // namespace trivium
