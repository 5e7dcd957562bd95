#include "model/families/bart_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/families/activation_names.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_head.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

StackDescription ReadStack(const BartOptions& options, const std::string& side,
                           ConfigReader* config) {
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
  // After a problem, values are replaced by their minimum and need not fit
  // together.
  if (config->problems()->size() == reported &&
      stack.d_model % stack.heads != 0) {
    config->Report(heads_key, config->Find(heads_key),
                   fmt::format("it must divide d_model, {}", stack.d_model));
  }
  stack.activation =
      ReadActivation(config, "activation_function", options.activation);
  stack.norm_epsilon = 1e-5f;
  stack.positions = options.positions;
  stack.position_offset = options.position_offset;
  stack.position_padding_id = options.position_padding_id;
  const bool scaled =
      config->Boolean("scale_embedding").value_or(options.scale_embedding);
  stack.embedding_scale =
      scaled ? std::sqrt(static_cast<float>(stack.d_model)) : 1.0f;
  return stack;
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

// Marian's and Pegasus' config implies sines and cosines, and nearly every
// folder leaves the table out. If a checkpoint has one, Transformers reads it.
void ReadPositions(const std::string& side, TensorReader* tensors,
                   StackDescription* stack) {
  const std::string name = side + ".embed_positions.weight";
  if (stack->positions == PositionEncoding::kSinusoidal && tensors->Has(name)) {
    stack->positions = PositionEncoding::kLearned;
  }
  if (stack->positions != PositionEncoding::kLearned) return;
  stack->embeddings.positions = tensors->Required(
      name, {stack->max_positions + stack->position_offset, stack->d_model});
}

// Tied tensors become one pointer, so that they are packed once.
void ReadEmbeddings(bool shared, bool tied_output, TensorReader* tensors,
                    TransformerDescription* description) {
  const std::string encoder_name = "encoder.embed_tokens.weight";
  const std::string decoder_name = "decoder.embed_tokens.weight";
  const std::string output_name = "lm_head.weight";
  StackDescription& encoder = *description->encoder;
  StackDescription& decoder = *description->decoder;
  const int d_model = encoder.d_model;
  const TensorView*& output = description->output_projection.weight;
  if (shared && tied_output) {
    output = tensors->RequiredOneOf(
        {"shared.weight", encoder_name, decoder_name, output_name},
        {encoder.vocabulary, d_model});
    encoder.embeddings.tokens = output;
    decoder.embeddings.tokens = output;
  } else {
    std::vector<std::string> encoder_names = {encoder_name};
    std::vector<std::string> decoder_names = {decoder_name};
    if (shared) {
      encoder_names.push_back("shared.weight");
      decoder_names.push_back("shared.weight");
    }
    encoder.embeddings.tokens =
        tensors->RequiredOneOf(encoder_names, {encoder.vocabulary, d_model});
    decoder.embeddings.tokens =
        tensors->RequiredOneOf(decoder_names, {decoder.vocabulary, d_model});
    output = tied_output ? decoder.embeddings.tokens
                         : tensors->Required(output_name,
                                             {decoder.vocabulary, d_model});
  }
  // Transformers replaces a missing bias by zeros.
  if (tensors->Has("final_logits_bias")) {
    description->output_projection.bias =
        tensors->Required("final_logits_bias", {1, decoder.vocabulary});
  }
}

// Reads both stacks without their tensors.
void ReadConfig(const BartOptions& options, ConfigReader* config,
                TransformerDescription* description) {
  if (!options.classifiers || !IsSequenceClassifier(config)) {
    RefuseOtherHeads(config);
  }
  description->encoder = ReadStack(options, "encoder", config);
  // Problems of keys that both stacks read are reported once.
  Problems* problems = config->problems();
  const size_t reported = problems->size();
  description->decoder = ReadStack(options, "decoder", config);
  for (size_t i = problems->size(); i-- > reported;) {
    const auto first = problems->begin();
    if (std::find(first, first + reported, (*problems)[i]) !=
        first + reported) {
      problems->erase(first + i);
    }
  }
  if (options.positions != PositionEncoding::kLearned &&
      description->encoder->d_model % 2 != 0) {
    config->Report("d_model", config->Find("d_model"),
                   "it must be even, half sines and half cosines");
  }
  if (options.decoder_vocabulary != 0) {
    description->decoder->vocabulary = options.decoder_vocabulary;
  }
}

// Reads all tensors of a description that ReadConfig filled.
void ReadTensors(const BartOptions& options, ConfigReader* config,
                 TensorReader* tensors, TransformerDescription* description) {
  ReadEmbeddings(options.shared_embeddings,
                 config->Boolean("tie_word_embeddings").value_or(true), tensors,
                 description);
  for (const auto& [side, stack] : {std::pair<const char*, StackDescription*>{
                                        "encoder", &*description->encoder},
                                    {"decoder", &*description->decoder}}) {
    ReadPositions(side, tensors, stack);
    if (options.embedding_norm) {
      stack->embedding_norm = tensors->Norm(
          std::string(side) + ".layernorm_embedding", stack->d_model);
      stack->positions_after_norm =
          options.positions_after_norm && stack == &*description->decoder;
      // Such a decoder does not scale, though its encoder may.
      if (stack->positions_after_norm) stack->embedding_scale = 1;
    }
    if (options.final_norm) {
      stack->final_norm =
          tensors->Norm(std::string(side) + ".layer_norm", stack->d_model);
    }
    ReadLayers(side, options.norm_before, tensors, stack);
  }
}

}  // namespace

TransformerDescription ReadBart(const BartOptions& options,
                                FamilyReader* family) {
  TransformerDescription description;
  ReadConfig(options, family->config(), &description);
  TensorReader* const tensors = family->OpenTensors("model.");
  if (tensors == nullptr) return {};
  ReadTensors(options, family->config(), tensors, &description);
  if (options.classifiers && IsSequenceClassifier(family->config())) {
    ReadSecondReadingHead("classification_head", /*start_id=*/2, /*end_id=*/2,
                          family->config(), tensors, &description);
  }
  return description;
}

}  // namespace trivium
