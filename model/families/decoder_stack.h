#ifndef TRIVIUM_MODEL_FAMILIES_DECODER_STACK_H_
#define TRIVIUM_MODEL_FAMILIES_DECODER_STACK_H_

#include <cstdint>
#include <string>

#include "base/config_reader.h"
#include "model/families/registry.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"
#include "nlohmann/json.hpp"

namespace trivium {

// What decoder-only families have in common. Such a family gives
//   description.decoder, with in every layer a causal self-attention
//   (look_ahead 0) and no cross-attention, and description.output_projection;
//   generation_defaults: the end tokens of its Transformers configuration.
// The prompt is what the decoder reads first: there is no encoder.

// The keys of config.json.
struct DecoderKeys {
  std::string layers = "num_hidden_layers";
  std::string d_model = "hidden_size";
  std::string heads = "num_attention_heads";
  std::string feed_forward = "intermediate_size";  // empty: there is no key
  // What feed_forward is times d_model where it is absent or null; 0: it is
  // required.
  int feed_forward_factor = 0;
  std::string positions = "max_position_embeddings";
  bool even_heads = true;  // d_model must be a multiple of heads
};

// Refuses a folder that was trained to tell something else: it has no text to
// give.
void RefuseOtherHeads(ConfigReader* config);

// Sizes, and learned positions. Refuses other heads.
StackDescription ReadDecoderConfig(ConfigReader* config,
                                   const DecoderKeys& keys);

// Refuses a boolean option whose value is not `only`, which it also is where
// it is absent.
void RequireBoolean(ConfigReader* config, const std::string& key, bool only);

// The output projection: the decoder's token embeddings or, where
// tie_word_embeddings is false, lm_head.weight; none where the folder has the
// layers alone ("MistralModel"), as many that make embeddings do.
void ReadOutputProjection(ConfigReader* config, bool tied_by_default,
                          TensorReader* tensors,
                          TransformerDescription* description);

// A family's token that begins and ends texts where the folder names none, if
// the vocabulary has it.
nlohmann::json EndDefaults(int32_t id, const StackDescription& stack);

// Causal attention whose heads share d_model evenly.
AttentionGeometry CausalGeometry(const StackDescription& stack);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_DECODER_STACK_H_
