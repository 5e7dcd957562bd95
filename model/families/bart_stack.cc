#include "model/families/bart_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/families/activation_names.h"
#include "model/families/bart_experts.h"
#include "model/families/decoder_stack.h"
#include "model/families/encoder_head.h"
#include "model/families/sizes.h"
#include "model/families/windowed_attention.h"

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
  stack.max_positions = config->RequiredInteger(
      options.windows ? "max_" + side + "_position_embeddings"
                      : "max_position_embeddings",
      2, kMaxPositions);
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

AttentionDescription ReadWindowedAttention(TensorReader* tensors,
                                           const std::string& name, int d_model,
                                           const AttentionGeometry& geometry) {
  const std::string parts = name + ".longformer_self_attn.";
  return {.geometry = geometry,
          .query = tensors->Linear(parts + "query", d_model, d_model),
          .key = tensors->Linear(parts + "key", d_model, d_model),
          .value = tensors->Linear(parts + "value", d_model, d_model),
          .output = tensors->Linear(name + ".output", d_model, d_model)};
}

AttentionDescription ReadAttention(TensorReader* tensors,
                                   const std::string& name, int d_model,
                                   AttentionGeometry geometry) {
  return {geometry, tensors->Linear(name + ".q_proj", d_model, d_model),
          tensors->Linear(name + ".k_proj", d_model, d_model),
          tensors->Linear(name + ".v_proj", d_model, d_model),
          tensors->Linear(name + ".out_proj", d_model, d_model)};
}

// Parts that BART does not have.
struct BartParts {
  // Tokens that the encoder's layers see on either side; empty: all.
  std::vector<int> windows;
  std::optional<BartExperts> experts;
};

void ReadLayers(const std::string& side, const BartOptions& options,
                const BartParts& has, TensorReader* tensors,
                StackDescription* stack) {
  const auto norms = [&](const std::string& name) {
    SublayerNorms read;
    (options.norm_before ? read.before : read.after) =
        tensors->Norm(name, stack->d_model);
    return read;
  };
  const int d_model = stack->d_model;
  const bool decodes = side == "decoder";
  const std::string cross_name =
      options.experts ? "cross_attention" : "encoder_attn";
  int step = 0;  // each step-th layer has experts; 0: none has
  if (has.experts.has_value()) {
    step = decodes ? has.experts->decoder_step : has.experts->encoder_step;
  }
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
    if (decodes) geometry.look_ahead = 0;
    if (decodes || has.windows.empty()) {
      layer.self_attention =
          ReadAttention(tensors, name + "self_attn", d_model, geometry);
    } else {
      geometry.look_back = geometry.look_ahead = has.windows[i];
      layer.self_attention =
          ReadWindowedAttention(tensors, name + "self_attn", d_model, geometry);
    }
    layer.self_attention_norms = norms(name + "self_attn_layer_norm");
    if (decodes) {
      layer.cross_attention =
          ReadAttention(tensors, name + cross_name, d_model, cross);
      layer.cross_attention_norms = norms(name + cross_name + "_layer_norm");
    }
    const std::string block = options.experts ? name + "ffn." : name;
    if (step > 0 && (i + 1) % step == 0) {
      layer.experts =
          ReadBartExpertTensors(tensors, block, *has.experts, *stack);
    } else {
      layer.up = tensors->Linear(block + "fc1", stack->feed_forward, d_model);
      layer.down = tensors->Linear(block + "fc2", d_model, stack->feed_forward);
    }
    layer.feed_forward_norms =
        norms(name + (options.experts ? "ff" : "final") + "_layer_norm");
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

BartParts ReadParts(const BartOptions& options, ConfigReader* config,
                    const TransformerDescription& description) {
  const int encoder_layers = description.encoder->layers;
  BartParts parts;
  if (options.windows) {
    parts.windows = ReadAttentionWindows(config, encoder_layers);
  }
  if (options.experts) {
    parts.experts =
        ReadBartExperts(config, encoder_layers + description.decoder->layers);
  }
  return parts;
}

// Reads all tensors of a description that ReadConfig filled.
void ReadTensors(const BartOptions& options, const BartParts& parts,
                 ConfigReader* config, TensorReader* tensors,
                 TransformerDescription* description) {
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
    ReadLayers(side, options, parts, tensors, stack);
  }
}

}  // namespace

TransformerDescription ReadBart(const BartOptions& options,
                                FamilyReader* family) {
  TransformerDescription description;
  ReadConfig(options, family->config(), &description);
  const BartParts parts = ReadParts(options, family->config(), description);
  TensorReader* const tensors = family->OpenTensors(options.prefix);
  if (tensors == nullptr) return {};
  ReadTensors(options, parts, family->config(), tensors, &description);
  if (options.classifiers && IsSequenceClassifier(family->config())) {
    ReadSecondReadingHead("classification_head", /*start_id=*/2, /*end_id=*/2,
                          family->config(), tensors, &description);
  }
  return description;
}

}  // namespace trivium
