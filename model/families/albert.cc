#include "model/families/albert.h"

#include <fmt/format.h>

#include <vector>

#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// Each of num_hidden_layers steps runs all `inner` layers of its group.
void ReadLayers(int groups, int inner, TensorReader* tensors,
                StackDescription* stack) {
  const EncoderLayerNames names = {
      .query = "attention.query",
      .key = "attention.key",
      .value = "attention.value",
      .attention_output = "attention.dense",
      .attention_norm = "attention.LayerNorm",
      .up = "ffn",
      .down = "ffn_output",
      .feed_forward_norm = "full_layer_layer_norm"};
  std::vector<LayerDescription> layers;
  for (int group = 0; group < groups; ++group) {
    for (int i = 0; i < inner; ++i) {
      const std::string name = fmt::format(
          "encoder.albert_layer_groups.{}.albert_layers.{}.", group, i);
      if (!tensors->HasAnyWith(name)) {
        tensors->problems()->push_back(fmt::format(
            "config.json: num_hidden_groups is {} and inner_group_num {}, but "
            "the weights have no {}*; take both files from the same model",
            groups, inner, name));
        return;
      }
      layers.push_back(ReadEncoderLayer(tensors, name, names, *stack));
    }
  }
  const int steps = stack->layers;
  for (int step = 0; step < steps; ++step) {
    // Distributes the steps among the groups like Transformers.
    const int group = static_cast<int>(step / (1.0 * steps / groups));
    for (int i = 0; i < inner; ++i) {
      stack->layer.push_back(layers[group * inner + i]);
    }
  }
  stack->layers = steps * inner;
}

}  // namespace

FamilyModel LoadAlbert(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  description.encoder = ReadEncoderConfig(config);
  StackDescription& encoder = *description.encoder;
  const int width =
      config->Integer("embedding_size", 1, kMaxWidth).value_or(128);
  const int groups =
      config->Integer("num_hidden_groups", 1, kMaxLayers).value_or(1);
  const int inner =
      config->Integer("inner_group_num", 1, kMaxLayers).value_or(1);
  if (groups > encoder.layers) {
    config->Report("num_hidden_groups", config->Find("num_hidden_groups"),
                   "there cannot be more groups than num_hidden_layers");
  }
  TensorReader* const tensors = family.OpenTensors("albert.");
  if (tensors == nullptr) return model;

  ReadEncoderEmbeddings(tensors, width, &encoder);
  encoder.embeddings.projection = tensors->Linear(
      "encoder.embedding_hidden_mapping_in", encoder.d_model, width);
  ReadLayers(groups, inner, tensors, &encoder);
  ReadPooler("pooler", encoder.d_model, Activation::kTanh, tensors,
             &description);
  EncoderHeadNames heads;
  heads.fill_mask = {.dense = "predictions.dense",
                     .activation = encoder.activation,
                     .norm = "predictions.LayerNorm",
                     .output = "predictions.decoder",
                     .bias = "predictions.bias",
                     .width = width};
  ReadEncoderHead(heads, config, tensors, &description);
  return model;
}

}  // namespace trivium
