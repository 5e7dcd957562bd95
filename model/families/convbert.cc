#include "model/families/convbert.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "model/families/derived_tensors.h"
#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

struct ConvBertOptions {
  int embedding_width = 0;
  int near_width = 0;
  int groups = 1;  // of feed-forwards
};

// Reads how many heads of each kind there are, and the options of layers.
ConvBertOptions ReadConvBertOptions(ConfigReader* config,
                                    StackDescription* encoder) {
  const size_t reported = config->problems()->size();
  ConvBertOptions options;
  options.embedding_width =
      config->Integer("embedding_size", 1, kMaxWidth).value_or(768);
  const int heads =
      config->RequiredInteger("num_attention_heads", 1, kMaxWidth);
  const int ratio = config->Integer("head_ratio", 1, kMaxWidth).value_or(2);
  options.near_width =
      config->Integer("conv_kernel_size", 1, kMaxWidth).value_or(9);
  options.groups = config->Integer("num_groups", 1, kMaxWidth).value_or(1);
  encoder->heads = std::max(heads / ratio, 1);
  if (config->problems()->size() > reported) return options;
  if (encoder->d_model % (2 * encoder->heads) != 0) {
    config->Report(
        "num_attention_heads", config->Find("num_attention_heads"),
        fmt::format("divided by head_ratio, {}, it gives {} heads of attention "
                    "and as many of convolutions; all of them together must "
                    "divide hidden_size, {}",
                    ratio, encoder->heads, encoder->d_model));
  }
  if (options.near_width % 2 == 0) {
    config->Report("conv_kernel_size", config->Find("conv_kernel_size"),
                   "it must be odd");
  }
  if (encoder->d_model % options.groups != 0 ||
      encoder->feed_forward % options.groups != 0) {
    config->Report("num_groups", config->Find("num_groups"),
                   fmt::format("it must divide hidden_size, {}, and "
                               "intermediate_size, {}",
                               encoder->d_model, encoder->feed_forward));
  }
  return options;
}

AttentionDescription ReadConvBertAttention(TensorReader* tensors,
                                           const std::string& name,
                                           int near_width,
                                           const StackDescription& encoder,
                                           TensorMemory* memory) {
  const int d = encoder.d_model, width = d / 2;
  const std::string self = name + "attention.self.";
  const std::string span = self + "key_conv_attn_layer.";
  AttentionDescription attention;
  attention.geometry = AttentionGeometry::Even(width, encoder.heads);
  attention.query = tensors->Linear(self + "query", width, d);
  attention.key = tensors->Linear(self + "key", width, d);
  attention.value = tensors->Linear(self + "value", width, d);
  NearHeadsDescription& near = attention.near.emplace();
  near.width = near_width;
  near.depthwise =
      tensors->Required(span + "depthwise.weight", {d, 1, near_width});
  const TensorView* const pointwise =
      tensors->Required(span + "pointwise.weight", {width, d, 1});
  const TensorView* const bias = tensors->Required(span + "bias", {width, 1});
  if (pointwise != nullptr && bias != nullptr) {
    near.span = {Reshaped(*pointwise, {width, d}, memory),
                 Reshaped(*bias, {width}, memory)};
  }
  near.weights = tensors->Linear(self + "conv_kernel_layer",
                                 encoder.heads * near_width, width);
  near.value = tensors->Linear(self + "conv_out_layer", width, d);
  attention.output = tensors->Linear(name + "attention.output.dense", d, d);
  return attention;
}

LinearTensors ReadGroupedLinear(TensorReader* tensors, const std::string& name,
                                int out, int in, int groups,
                                TensorMemory* memory) {
  if (groups == 1) return tensors->Linear(name, out, in);
  const TensorView* const blocks =
      tensors->Required(name + ".weight", {groups, in / groups, out / groups});
  return {blocks == nullptr ? nullptr : BlockDiagonal(*blocks, memory),
          tensors->Required(name + ".bias", {out})};
}

void ReadConvBertLayers(TensorReader* tensors, const ConvBertOptions& options,
                        TransformerDescription* description) {
  StackDescription& encoder = *description->encoder;
  TensorMemory* const memory = &description->memory;
  const int d = encoder.d_model, inner = encoder.feed_forward;
  for (int i = 0; i < encoder.layers; ++i) {
    const std::string name = fmt::format("encoder.layer.{}.", i);
    if (!HasLayer(tensors, name, i, EncoderKeys().layers, encoder)) return;
    LayerDescription& layer = encoder.layer.emplace_back();
    layer.self_attention = ReadConvBertAttention(
        tensors, name, options.near_width, encoder, memory);
    layer.self_attention_norms.after =
        tensors->Norm(name + "attention.output.LayerNorm", d);
    layer.up = ReadGroupedLinear(tensors, name + "intermediate.dense", inner, d,
                                 options.groups, memory);
    layer.down = ReadGroupedLinear(tensors, name + "output.dense", d, inner,
                                   options.groups, memory);
    layer.feed_forward_norms.after =
        tensors->Norm(name + "output.LayerNorm", d);
  }
}

}  // namespace

FamilyModel LoadConvBert(const nlohmann::json& json, const Weights* weights,
                         Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  EncoderKeys keys;
  keys.heads = "";
  StackDescription& encoder =
      description.encoder.emplace(ReadEncoderConfig(config, keys));
  const ConvBertOptions options = ReadConvBertOptions(config, &encoder);
  const int width = options.embedding_width;
  TensorReader* const tensors = family.OpenTensors("convbert.");
  if (tensors == nullptr) return model;

  ReadProjectedEmbeddings(tensors, width, &encoder);
  ReadConvBertLayers(tensors, options, &description);
  EncoderHeadNames heads;
  heads.classify = {.input = HeadDescription::Input::kFirstToken,
                    .dense = "classifier.dense",
                    .activation = encoder.activation,
                    .output = "classifier.out_proj"};
  heads.fill_mask = {.dense = "generator_predictions.dense",
                     .activation = Activation::kGelu,
                     .norm = "generator_predictions.LayerNorm",
                     .output = "generator_lm_head",
                     .bias = "generator_lm_head.bias",
                     .width = width};
  ReadEncoderHead(heads, config, tensors, &description);
  return model;
}

}  // namespace trivium
