#include "model/families/marian.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/families/activation_names.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

struct MarianConfig {
  StackDescription encoder;
  StackDescription decoder;
  bool shared_embeddings = true;
  bool tied_output = true;
  bool norm_before = false;  // else after each sublayer
  bool final_norm = false;
  bool embedding_norm = false;
};

StackDescription ReadStack(ConfigReader* config, const std::string& side) {
  const size_t reported = config->problems()->size();
  StackDescription stack;
  stack.layers = config->RequiredInteger(side + "_layers", 1, kMaxLayers);
  stack.d_model = config->RequiredInteger("d_model", 2, kMaxWidth);
  const std::string heads_key = side + "_attention_heads";
  stack.heads = config->RequiredInteger(heads_key, 1, kMaxWidth);
  stack.feed_forward = config->RequiredInteger(side + "_ffn_dim", 1, kMaxWidth);
  stack.vocabulary = config->RequiredInteger("vocab_size", 1, kMaxVocabulary);
  stack.max_positions =
      config->RequiredInteger("max_position_embeddings", 2, kMaxPositions);
  // Unusable values stand as their least ones, which need not fit together.
  if (config->problems()->size() == reported &&
      stack.d_model % stack.heads != 0) {
    config->Report(heads_key, config->Find(heads_key),
                   fmt::format("it must divide d_model, {}", stack.d_model));
  }
  stack.activation =
      ReadActivation(config, "activation_function", Activation::kGelu);
  // The first Marian folders, of 2020, still have the keys of BART.
  stack.norm_epsilon = 1e-5f;
  stack.positions = PositionEncoding::kSinusoidal;
  stack.embedding_scale = config->Boolean("scale_embedding").value_or(false)
                              ? std::sqrt(static_cast<float>(stack.d_model))
                              : 1.0f;
  return stack;
}

MarianConfig ReadMarianConfig(ConfigReader* config) {
  MarianConfig result;
  result.encoder = ReadStack(config, "encoder");
  // What both stacks read is reported once.
  Problems* problems = config->problems();
  const size_t reported = problems->size();
  result.decoder = ReadStack(config, "decoder");
  for (size_t i = problems->size(); i-- > reported;) {
    const auto first = problems->begin();
    if (std::find(first, first + reported, (*problems)[i]) !=
        first + reported) {
      problems->erase(first + i);
    }
  }
  if (result.encoder.d_model % 2 != 0) {
    config->Report("d_model", config->Find("d_model"),
                   "it must be even, half sines and half cosines");
  }
  result.shared_embeddings =
      config->Boolean("share_encoder_decoder_embeddings").value_or(true);
  result.tied_output = config->Boolean("tie_word_embeddings").value_or(true);
  const int decoder_vocabulary =
      config->Integer("decoder_vocab_size", 1, kMaxVocabulary)
          .value_or(result.encoder.vocabulary);
  if (!result.shared_embeddings) {
    result.decoder.vocabulary = decoder_vocabulary;
  }
  result.norm_before = config->Boolean("normalize_before").value_or(false);
  result.final_norm = config->Boolean("add_final_layer_norm").value_or(false);
  result.embedding_norm =
      config->Boolean("normalize_embedding").value_or(false);
  return result;
}

AttentionDescription ReadAttention(TensorReader* tensors,
                                   const std::string& name, int d_model,
                                   AttentionGeometry geometry) {
  return {geometry, tensors->Linear(name + ".q_proj", d_model, d_model),
          tensors->Linear(name + ".k_proj", d_model, d_model),
          tensors->Linear(name + ".v_proj", d_model, d_model),
          tensors->Linear(name + ".out_proj", d_model, d_model)};
}

void ReadLayers(const std::string& side, bool norm_before,
                TensorReader* tensors, StackDescription* stack) {
  const auto norms = [&](const std::string& name) {
    SublayerNorms read;
    (norm_before ? read.before : read.after) =
        tensors->Norm(name, stack->d_model);
    return read;
  };
  const int d_model = stack->d_model;
  for (int i = 0; i < stack->layers; ++i) {
    const std::string name = fmt::format("{}.layers.{}.", side, i);
    if (!tensors->HasAnyWith(name)) {
      tensors->problems()->push_back(fmt::format(
          "config.json: {}_layers is {}, but the weights have only {} layers; "
          "take both files from the same model",
          side, stack->layers, i));
      return;
    }
    LayerDescription layer;
    AttentionGeometry geometry = AttentionGeometry::Even(d_model, stack->heads);
    const AttentionGeometry cross = geometry;
    if (side == "decoder") geometry.look_ahead = 0;
    layer.self_attention =
        ReadAttention(tensors, name + "self_attn", d_model, geometry);
    layer.self_attention_norms = norms(name + "self_attn_layer_norm");
    if (side == "decoder") {
      layer.cross_attention =
          ReadAttention(tensors, name + "encoder_attn", d_model, cross);
      layer.cross_attention_norms = norms(name + "encoder_attn_layer_norm");
    }
    layer.up = tensors->Linear(name + "fc1", stack->feed_forward, d_model);
    layer.down = tensors->Linear(name + "fc2", d_model, stack->feed_forward);
    layer.feed_forward_norms = norms(name + "final_layer_norm");
    stack->layer.push_back(layer);
  }
}

void ReadNorms(const std::string& side, const MarianConfig& config,
               TensorReader* tensors, StackDescription* stack) {
  if (config.embedding_norm) {
    stack->embedding_norm =
        tensors->Norm(side + ".layernorm_embedding", stack->d_model);
  }
  if (config.final_norm) {
    stack->final_norm = tensors->Norm(side + ".layer_norm", stack->d_model);
  }
}

// Sines and cosines are what the config means, and what nearly every folder
// leaves out; where a checkpoint carries a table, Transformers reads that.
void ReadPositions(const std::string& side, TensorReader* tensors,
                   StackDescription* stack) {
  const std::string name = side + ".embed_positions.weight";
  if (!tensors->Has(name)) return;
  stack->positions = PositionEncoding::kLearned;
  stack->embeddings.positions =
      tensors->Required(name, {stack->max_positions, stack->d_model});
}

// Tied tensors become one pointer, so that they are packed once.
void ReadEmbeddings(const MarianConfig& config, TensorReader* tensors,
                    TransformerDescription* description) {
  const std::string encoder_name = "encoder.embed_tokens.weight";
  const std::string decoder_name = "decoder.embed_tokens.weight";
  const std::string output_name = "lm_head.weight";
  StackDescription& encoder = *description->encoder;
  StackDescription& decoder = *description->decoder;
  const int d_model = encoder.d_model;
  const TensorView*& output = description->output_projection.weight;
  if (config.shared_embeddings && config.tied_output) {
    output = tensors->RequiredOneOf(
        {"shared.weight", encoder_name, decoder_name, output_name},
        {encoder.vocabulary, d_model});
    encoder.embeddings.tokens = output;
    decoder.embeddings.tokens = output;
  } else {
    std::vector<std::string> encoder_names = {encoder_name};
    std::vector<std::string> decoder_names = {decoder_name};
    if (config.shared_embeddings) {
      encoder_names.push_back("shared.weight");
      decoder_names.push_back("shared.weight");
    }
    encoder.embeddings.tokens =
        tensors->RequiredOneOf(encoder_names, {encoder.vocabulary, d_model});
    decoder.embeddings.tokens =
        tensors->RequiredOneOf(decoder_names, {decoder.vocabulary, d_model});
    output =
        config.tied_output
            ? decoder.embeddings.tokens
            : tensors->Required(output_name, {decoder.vocabulary, d_model});
  }
  // Transformers takes a missing bias for zeros.
  if (tensors->Has("final_logits_bias")) {
    description->output_projection.bias =
        tensors->Required("final_logits_bias", {1, decoder.vocabulary});
  }
}

}  // namespace

FamilyModel LoadMarian(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  FamilyReader family(json, weights, problems);
  const MarianConfig config = ReadMarianConfig(family.config());
  FamilyModel model;
  model.generation_defaults = {{"decoder_start_token_id", 58100},
                               {"eos_token_id", 0},
                               {"forced_eos_token_id", 0}};
  TensorReader* const tensors = family.OpenTensors("model.");
  if (tensors == nullptr) return model;
  TransformerDescription& description = model.description;
  description.encoder = config.encoder;
  description.decoder = config.decoder;
  ReadEmbeddings(config, tensors, &description);
  ReadPositions("encoder", tensors, &*description.encoder);
  ReadPositions("decoder", tensors, &*description.decoder);
  ReadNorms("encoder", config, tensors, &*description.encoder);
  ReadNorms("decoder", config, tensors, &*description.decoder);
  ReadLayers("encoder", config.norm_before, tensors, &*description.encoder);
  ReadLayers("decoder", config.norm_before, tensors, &*description.decoder);
  return model;
}

}  // namespace trivium
