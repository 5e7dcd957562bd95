#include "model/families/opt.h"

#include <fmt/format.h>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

struct OptConfig {
  StackDescription decoder;
  int embedding_width = 0;  // if not d_model, there are projections
  bool biases = true;
  bool bare_norms = false;
  bool norm_before = true;  // if not, after each sublayer
  bool final_norm = true;
};

OptConfig ReadOptConfig(ConfigReader* config) {
  OptConfig result;
  result.decoder = ReadDecoderConfig(config, {.feed_forward = "ffn_dim"});
  StackDescription& decoder = result.decoder;
  decoder.activation =
      ReadActivation(config, "activation_function", Activation::kRelu);
  decoder.norm_epsilon = 1e-5f;
  // Rows of the table that no token uses.
  decoder.position_offset = 2;
  result.embedding_width = config->Integer("word_embed_proj_dim", 1, kMaxWidth)
                               .value_or(decoder.d_model);
  result.biases = config->Boolean("enable_bias").value_or(true);
  result.norm_before = config->Boolean("do_layer_norm_before").value_or(true);
  result.final_norm =
      result.norm_before &&
      !config->Boolean("_remove_final_layer_norm").value_or(false);
  result.bare_norms =
      !config->Boolean("layer_norm_elementwise_affine").value_or(true);
  return result;
}

void ReadEmbeddings(const OptConfig& config, TensorReader* tensors,
                    TransformerDescription* description) {
  StackDescription& decoder = *description->decoder;
  const int width = config.embedding_width;
  const int d_model = decoder.d_model;
  decoder.embeddings.tokens = tensors->Required("decoder.embed_tokens.weight",
                                                {decoder.vocabulary, width});
  decoder.embeddings.positions = tensors->Required(
      "decoder.embed_positions.weight",
      {decoder.max_positions + decoder.position_offset, d_model});
  if (width == d_model) return;
  decoder.embeddings.projection = {
      tensors->Required("decoder.project_in.weight", {d_model, width})};
  description->output_narrowing = {
      tensors->Required("decoder.project_out.weight", {width, d_model})};
}

NormTensors ReadNorm(const OptConfig& config, const std::string& name,
                     TensorReader* tensors, TensorMemory* memory) {
  const int d_model = config.decoder.d_model;
  return config.bare_norms
             ? BareNorm(d_model, NormTensors::Kind::kLayer, memory)
             : tensors->Norm(name, d_model);
}

LayerDescription ReadLayer(const OptConfig& config, const std::string& name,
                           TensorReader* tensors, TensorMemory* memory) {
  const int d_model = config.decoder.d_model;
  const int feed_forward = config.decoder.feed_forward;
  const auto linear = [&](const std::string& part, int out, int in) {
    if (config.biases) return tensors->Linear(name + part, out, in);
    return LinearTensors{tensors->Required(name + part + ".weight", {out, in})};
  };
  const auto norms = [&](const std::string& part) {
    SublayerNorms read;
    (config.norm_before ? read.before : read.after) =
        ReadNorm(config, name + part, tensors, memory);
    return read;
  };
  LayerDescription layer;
  layer.self_attention = {CausalGeometry(config.decoder),
                          linear("self_attn.q_proj", d_model, d_model),
                          linear("self_attn.k_proj", d_model, d_model),
                          linear("self_attn.v_proj", d_model, d_model),
                          linear("self_attn.out_proj", d_model, d_model)};
  layer.self_attention_norms = norms("self_attn_layer_norm");
  layer.up = linear("fc1", feed_forward, d_model);
  layer.down = linear("fc2", d_model, feed_forward);
  layer.feed_forward_norms = norms("final_layer_norm");
  return layer;
}

}  // namespace

FamilyModel LoadOpt(const nlohmann::json& json, const Weights* weights,
                    Problems* problems) {
  FamilyReader family(json, weights, problems);
  const OptConfig config = ReadOptConfig(family.config());
  FamilyModel model;
  model.generation_defaults = EndDefaults(2, config.decoder);
  TransformerDescription& description = model.description;
  description.decoder = config.decoder;
  TensorReader* const tensors = family.OpenTensors("model.");
  if (tensors == nullptr) return model;

  StackDescription& decoder = *description.decoder;
  ReadEmbeddings(config, tensors, &description);
  for (int i = 0; i < decoder.layers; ++i) {
    const std::string name = fmt::format("decoder.layers.{}.", i);
    if (!HasLayer(tensors, name, i, "num_hidden_layers", decoder)) return model;
    decoder.layer.push_back(
        ReadLayer(config, name, tensors, &description.memory));
  }
  if (config.final_norm) {
    decoder.final_norm = ReadNorm(config, "decoder.final_layer_norm", tensors,
                                  &description.memory);
  }
  ReadOutputProjection(family.config(), /*tied_by_default=*/true, tensors,
                       &description);
  return model;
}

}  // namespace trivium
