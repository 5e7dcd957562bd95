#include "model/families/distilbert.h"

#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"

namespace trivium {

FamilyModel LoadDistilBert(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  const EncoderKeys keys = {.layers = "n_layers",
                            .d_model = "dim",
                            .heads = "n_heads",
                            .feed_forward = "hidden_dim",
                            .activation = "activation"};
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.encoder = ReadEncoderConfig(config, keys);
  StackDescription& encoder = *description.encoder;
  encoder.type_vocabulary = 0;
  encoder.norm_epsilon = 1e-12f;
  TensorReader* const tensors = family.OpenTensors("distilbert.");
  if (tensors == nullptr) return model;

  ReadEncoderEmbeddings(tensors, encoder.d_model, &encoder);
  const EncoderLayerNames names = {.query = "attention.q_lin",
                                   .key = "attention.k_lin",
                                   .value = "attention.v_lin",
                                   .attention_output = "attention.out_lin",
                                   .attention_norm = "sa_layer_norm",
                                   .up = "ffn.lin1",
                                   .down = "ffn.lin2",
                                   .feed_forward_norm = "output_layer_norm"};
  ReadEncoderLayers(tensors, "transformer.layer.", names, keys.layers,
                    &encoder);
  EncoderHeadNames heads;
  heads.classify = {.input = HeadDescription::Input::kFirstToken,
                    .dense = "pre_classifier",
                    .activation = Activation::kRelu,
                    .output = "classifier"};
  heads.fill_mask = {.dense = "vocab_transform",
                     .activation = encoder.activation,
                     .norm = "vocab_layer_norm",
                     .output = "vocab_projector",
                     .bias = "vocab_projector.bias",
                     .width = encoder.d_model};
  ReadEncoderHead(heads, config, tensors, &description);
  return model;
}

}  // namespace trivium
