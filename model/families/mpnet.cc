#include "model/families/mpnet.h"

#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {

FamilyModel LoadMpnet(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.encoder = ReadEncoderConfig(config);
  StackDescription& encoder = *description.encoder;
  encoder.type_vocabulary = 0;
  UseRobertaPositions(config, /*padding_id=*/1, &encoder);
  RelativeAttentionDescription relative;
  relative.buckets = RelativeAttentionDescription::Buckets::kT5;
  relative.span = 32;  // the only value that Transformers supports
  relative.max_distance = 128;
  constexpr char kBuckets[] = "relative_attention_num_buckets";
  if (config->Integer(kBuckets, 1, kMaxPositions).value_or(32) != 32) {
    config->Report(kBuckets, config->Find(kBuckets), "give 32");
  }
  TensorReader* const tensors = family.OpenTensors("mpnet.");
  if (tensors == nullptr) return model;

  ReadEncoderEmbeddings(tensors, encoder.d_model, &encoder);
  relative.bias = tensors->Required("encoder.relative_attention_bias.weight",
                                    {relative.span, encoder.heads});
  encoder.relative_attention = relative;
  EncoderLayerNames names;
  names.query = "attention.attn.q";
  names.key = "attention.attn.k";
  names.value = "attention.attn.v";
  names.attention_output = "attention.attn.o";
  names.attention_norm = "attention.LayerNorm";
  ReadEncoderLayers(tensors, "encoder.layer.", names, EncoderKeys().layers,
                    &encoder);
  ReadPooler("pooler.dense", encoder.d_model, Activation::kTanh, tensors,
             &description);
  ReadEncoderHead(RobertaHeadNames(encoder), config, tensors, &description);
  return model;
}

}  // namespace trivium
