#include "model/families/roformer.h"

#include "model/families/decoder_stack.h"
#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/rotary_config.h"
#include "model/families/sizes.h"

namespace trivium {

FamilyModel LoadRoFormer(const nlohmann::json& json, const Weights* weights,
                         Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  StackDescription& encoder =
      description.encoder.emplace(ReadEncoderConfig(config));
  encoder.positions = PositionEncoding::kNone;
  const int width =
      config->Integer("embedding_size", 1, kMaxWidth).value_or(encoder.d_model);
  RequireBoolean(config, "rotary_value", false);
  encoder.rotary = {
      ReadRotary(config, {.head_size = encoder.d_model / encoder.heads,
                          .max_positions = encoder.max_positions,
                          .theta = 10000})};
  TensorReader* const tensors = family.OpenTensors("roformer.");
  if (tensors == nullptr) return model;

  ReadProjectedEmbeddings(tensors, width, &encoder);
  ReadEncoderLayers(tensors, "encoder.layer.", EncoderLayerNames(),
                    EncoderKeys().layers, &encoder);
  for (LayerDescription& layer : encoder.layer) {
    layer.self_attention.geometry.rotary = 0;
    TurnHalves(encoder, &layer.self_attention, &description.memory);
  }
  EncoderHeadNames heads = BertHeadNames(encoder, config);
  heads.classify = {.input = HeadDescription::Input::kFirstToken,
                    .dense = "classifier.dense",
                    .activation = encoder.activation,
                    .output = "classifier.out_proj"};
  heads.fill_mask.width = width;
  ReadEncoderHead(heads, config, tensors, &description);
  return model;
}

}  // namespace trivium
