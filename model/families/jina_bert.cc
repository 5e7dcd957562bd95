#include "model/families/jina_bert.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/joined_linear.h"

namespace trivium {
namespace {

struct JinaBertConfig {
  StackDescription encoder;
  bool gated = true;
};

JinaBertConfig ReadJinaBertConfig(ConfigReader* config) {
  JinaBertConfig result;
  result.encoder = ReadEncoderConfig(config, {.position_type = "alibi"});
  StackDescription& stack = result.encoder;
  stack.positions = PositionEncoding::kNone;
  stack.relative_attention.emplace().slopes =
      AlibiSlopes(stack.heads, /*scale=*/1);
  constexpr char kType[] = "feed_forward_type";
  const std::string type = config->Text(kType).value_or("original");
  result.gated = type != "original";
  if (type == "geglu") {
    stack.activation = Activation::kGelu;
  } else if (type == "reglu") {
    stack.activation = Activation::kRelu;
  } else if (result.gated) {
    config->Report(kType, config->Find(kType),
                   "give \"geglu\", \"reglu\" or \"original\"");
  }
  return result;
}

// The two variants have other names for the same; in the second, the gate's
// rows come last.
LayerDescription ReadJinaBertLayer(const JinaBertConfig& config,
                                   const std::string& name,
                                   TensorReader* tensors,
                                   TensorMemory* memory) {
  const StackDescription& stack = config.encoder;
  const int d_model = stack.d_model, inner = stack.feed_forward;
  const std::string self = name + "attention.self.";
  const bool normalizes = tensors->Has(self + "layer_norm_q.weight");
  const bool second = tensors->Has(name + "layer_norm_1.weight");
  const auto one_of = [&](const char* first, const char* other) {
    return tensors->Has(name + first + ".weight") ? first : other;
  };
  EncoderLayerNames names;
  const bool plain = !config.gated && !second;
  if (!plain) {
    names.up.clear();
    names.feed_forward_norm = one_of("mlp.layernorm", "layer_norm_2");
    names.down = one_of("mlp.wo", "mlp.down_layer");
  }
  LayerDescription layer = ReadEncoderLayer(tensors, name, names, stack);
  AttentionDescription& attention = layer.self_attention;
  if (normalizes) {
    attention.query_norm = tensors->Norm(self + "layer_norm_q", d_model);
    attention.key_norm = tensors->Norm(self + "layer_norm_k", d_model);
  }
  if (second) {
    SublayerNorms& norms = layer.self_attention_norms;
    norms.of_sum = norms.after;
    norms.after = tensors->Norm(name + "layer_norm_1", d_model);
  }
  if (plain) return layer;
  if (!config.gated) {
    layer.up = tensors->Linear(name + "mlp.up_layer", inner, d_model,
                               /*bias=*/false);
    return layer;
  }
  const std::vector<int64_t> rows = {inner, inner};
  const auto parts = ReadJoinedLinear(
      tensors, name + one_of("mlp.gated_layers", "mlp.up_gated_layer"), rows,
      /*groups=*/1, d_model, /*bias=*/false, memory);
  layer.gate = parts[second ? 1 : 0];
  layer.up = parts[second ? 0 : 1];
  return layer;
}

}  // namespace

FamilyModel LoadJinaBert(const nlohmann::json& json, const Weights* weights,
                         Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  const JinaBertConfig read = ReadJinaBertConfig(config);
  FamilyModel model;
  TransformerDescription& description = model.description;
  StackDescription& encoder = description.encoder.emplace(read.encoder);
  TensorReader* const tensors = family.OpenTensors("bert.");
  if (tensors == nullptr) return model;
  ReadEncoderEmbeddings(tensors, encoder.d_model, &encoder);
  for (int i = 0; i < encoder.layers; ++i) {
    const std::string name = fmt::format("encoder.layer.{}.", i);
    if (!HasLayer(tensors, name, i, EncoderKeys().layers, encoder)) {
      return model;
    }
    encoder.layer.push_back(
        ReadJinaBertLayer(read, name, tensors, &description.memory));
  }
  ReadPooler("pooler.dense", encoder.d_model, Activation::kTanh, tensors,
             &description);
  // In the head, hidden_act is used even where feed_forward_type is another.
  EncoderHeadNames heads = BertHeadNames(encoder, config);
  heads.fill_mask.activation =
      ReadActivation(config, EncoderKeys().activation, Activation::kGelu);
  ReadEncoderHead(heads, config, tensors, &description);
  return model;
}

}  // namespace trivium
