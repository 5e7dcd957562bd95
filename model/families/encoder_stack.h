#ifndef TRIVIUM_MODEL_FAMILIES_ENCODER_STACK_H_
#define TRIVIUM_MODEL_FAMILIES_ENCODER_STACK_H_

#include <string>

#include "base/config_reader.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// The common parts of BERT and its descendants: an encoder with learned
// positions, norms after each sublayer and biases everywhere. The families
// differ in the names of keys and tensors, which these structs hold; BERT's are
// the defaults.

struct EncoderKeys {
  std::string layers = "num_hidden_layers";
  std::string d_model = "hidden_size";
  std::string heads = "num_attention_heads";  // empty: the family reads it
  std::string feed_forward = "intermediate_size";
  std::string activation = "hidden_act";  // empty: the family reads it itself
  std::string positions = "max_position_embeddings";
  // The value of position_embedding_type, if there is one.
  std::string position_type = "absolute";
};

struct EncoderLayerNames {
  // Empty if the family reads queries, keys and values itself.
  std::string query = "attention.self.query";
  std::string key = "attention.self.key";
  std::string value = "attention.self.value";
  std::string attention_output = "attention.output.dense";
  std::string attention_norm = "attention.output.LayerNorm";
  std::string up = "intermediate.dense";  // empty: the family reads it itself
  std::string down = "output.dense";
  std::string feed_forward_norm = "output.LayerNorm";
  bool norms_before = false;  // they come before the sublayers, not after
};

// Reads the sizes and options of config.json, without tensors. Segments,
// position offset and epsilon (1e-12 if the file has none) are BERT's.
StackDescription ReadEncoderConfig(ConfigReader* config,
                                   const EncoderKeys& keys = {});

// Counts positions like RoBERTa: from padding_id + 1, and none for padding. The
// table of positions is longer than the model's longest text by as much.
void UseRobertaPositions(ConfigReader* config, int padding_id,
                         StackDescription* stack);

// Reads the embeddings of words, positions and segments, `width` wide, and
// their norm, unless its name is empty.
void ReadEncoderEmbeddings(TensorReader* tensors, int width,
                           StackDescription* stack,
                           const std::string& norm = "embeddings.LayerNorm");

// Does the same for encoders that widen narrower embeddings to d_model by a
// product, `embeddings_project` (ELECTRA, ConvBERT, RoFormer).
void ReadProjectedEmbeddings(TensorReader* tensors, int width,
                             StackDescription* stack);

// Reads the tensors of one layer; `name` ends with a dot.
LayerDescription ReadEncoderLayer(TensorReader* tensors,
                                  const std::string& name,
                                  const EncoderLayerNames& names,
                                  const StackDescription& stack);

// True if the weights have tensors of layer `name`, the `i`th; adds a problem
// if not.
bool HasLayer(TensorReader* tensors, const std::string& name, int i,
              const std::string& layers_key, const StackDescription& stack);

// Reads all layers, named PREFIX + "0." and so on.
void ReadEncoderLayers(TensorReader* tensors, const std::string& prefix,
                       const EncoderLayerNames& names,
                       const std::string& layers_key, StackDescription* stack);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_ENCODER_STACK_H_
