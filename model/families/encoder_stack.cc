#include "model/families/encoder_stack.h"

#include <fmt/format.h>

#include "model/families/activation_names.h"
#include "model/families/sizes.h"

namespace trivium {

StackDescription ReadEncoderConfig(ConfigReader* config,
                                   const EncoderKeys& keys) {
  const size_t reported = config->problems()->size();
  StackDescription stack;
  stack.layers = config->RequiredInteger(keys.layers, 1, kMaxLayers);
  stack.d_model = config->RequiredInteger(keys.d_model, 1, kMaxWidth);
  if (!keys.heads.empty()) {
    stack.heads = config->RequiredInteger(keys.heads, 1, kMaxWidth);
  }
  stack.feed_forward = config->RequiredInteger(keys.feed_forward, 1, kMaxWidth);
  stack.vocabulary = config->RequiredInteger("vocab_size", 1, kMaxVocabulary);
  stack.max_positions =
      config->RequiredInteger(keys.positions, 1, kMaxPositions);
  // After a problem, values are replaced by their minimum and need not fit
  // together.
  if (config->problems()->size() == reported && !keys.heads.empty() &&
      stack.d_model % stack.heads != 0) {
    config->Report(
        keys.heads, config->Find(keys.heads),
        fmt::format("it must divide {}, {}", keys.d_model, stack.d_model));
  }
  stack.type_vocabulary =
      config->Integer("type_vocab_size", 0, kMaxPositions).value_or(2);
  stack.activation = ReadActivation(config, keys.activation, Activation::kGelu);
  stack.norm_epsilon =
      static_cast<float>(config->Real("layer_norm_eps", 0, 1).value_or(1e-12));
  stack.positions = PositionEncoding::kLearned;
  // BERT's option of 2020 that changes the attention; no model uses it.
  const ConfigReader::Layer type = config->Find("position_embedding_type");
  if (type.json != nullptr && *type.json != keys.position_type) {
    config->Report(
        "position_embedding_type", type,
        fmt::format("this server supports only \"{}\"", keys.position_type));
  }
  if (config->Boolean("is_decoder").value_or(false)) {
    config->Report("is_decoder", config->Find("is_decoder"),
                   "this server runs this family as an encoder only");
  }
  return stack;
}

void UseRobertaPositions(ConfigReader* config, int padding_id,
                         StackDescription* stack) {
  stack->position_padding_id = padding_id;
  stack->position_offset = padding_id + 1;
  if (stack->max_positions <= stack->position_offset) {
    config->Report("max_position_embeddings",
                   config->Find("max_position_embeddings"),
                   fmt::format("the first {} are no positions of tokens",
                               stack->position_offset));
    return;
  }
  stack->max_positions -= stack->position_offset;
}

void ReadEncoderEmbeddings(TensorReader* tensors, int width,
                           StackDescription* stack, const std::string& norm) {
  EmbeddingTensors& embeddings = stack->embeddings;
  embeddings.tokens = tensors->Required("embeddings.word_embeddings.weight",
                                        {stack->vocabulary, width});
  if (stack->positions == PositionEncoding::kLearned) {
    embeddings.positions = tensors->Required(
        "embeddings.position_embeddings.weight",
        {stack->max_positions + stack->position_offset, width});
  }
  if (stack->type_vocabulary > 0) {
    embeddings.types =
        tensors->Required("embeddings.token_type_embeddings.weight",
                          {stack->type_vocabulary, width});
  }
  if (!norm.empty()) stack->embedding_norm = tensors->Norm(norm, width);
}

void ReadProjectedEmbeddings(TensorReader* tensors, int width,
                             StackDescription* stack) {
  ReadEncoderEmbeddings(tensors, width, stack);
  if (width == stack->d_model) return;
  stack->embeddings.projection =
      tensors->Linear("embeddings_project", stack->d_model, width);
}

LayerDescription ReadEncoderLayer(TensorReader* tensors,
                                  const std::string& name,
                                  const EncoderLayerNames& names,
                                  const StackDescription& stack) {
  const int d_model = stack.d_model;
  LayerDescription layer;
  AttentionDescription& attention = layer.self_attention;
  attention.geometry = AttentionGeometry::Even(d_model, stack.heads);
  if (!names.query.empty()) {
    attention.query = tensors->Linear(name + names.query, d_model, d_model);
    attention.key = tensors->Linear(name + names.key, d_model, d_model);
    attention.value = tensors->Linear(name + names.value, d_model, d_model);
  }
  attention.output =
      tensors->Linear(name + names.attention_output, d_model, d_model);
  const auto norm = [&](const std::string& part, SublayerNorms* norms) {
    (names.norms_before ? norms->before : norms->after) =
        tensors->Norm(name + part, d_model);
  };
  norm(names.attention_norm, &layer.self_attention_norms);
  if (!names.up.empty()) {
    layer.up = tensors->Linear(name + names.up, stack.feed_forward, d_model);
  }
  layer.down = tensors->Linear(name + names.down, d_model, stack.feed_forward);
  norm(names.feed_forward_norm, &layer.feed_forward_norms);
  return layer;
}

bool HasLayer(TensorReader* tensors, const std::string& name, int i,
              const std::string& layers_key, const StackDescription& stack) {
  if (tensors->HasAnyWith(name)) return true;
  tensors->problems()->push_back(fmt::format(
      "config.json: {} is {}, but the weights have only {} layers ({}* is "
      "missing); take both files from the same model",
      layers_key, stack.layers, i, name));
  return false;
}

void ReadEncoderLayers(TensorReader* tensors, const std::string& prefix,
                       const EncoderLayerNames& names,
                       const std::string& layers_key, StackDescription* stack) {
  for (int i = 0; i < stack->layers; ++i) {
    const std::string name = fmt::format("{}{}.", prefix, i);
    if (!HasLayer(tensors, name, i, layers_key, *stack)) return;
    stack->layer.push_back(ReadEncoderLayer(tensors, name, names, *stack));
  }
}

}  // namespace trivium
