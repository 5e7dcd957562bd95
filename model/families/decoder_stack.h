#ifndef TRIVIUM_MODEL_FAMILIES_DECODER_STACK_H_
#define TRIVIUM_MODEL_FAMILIES_DECODER_STACK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/config_reader.h"
#include "model/families/derived_tensors.h"
#include "model/families/registry.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"
#include "nlohmann/json.hpp"

namespace trivium {

// The common parts of decoder-only families. Such a family returns
//
//   description.decoder, with a causal self-attention (look_ahead 0) and no
//     cross-attention in every layer, and description.output_projection;
//   generation_defaults: the end tokens of its Transformers configuration.
//
// There is no encoder: the decoder reads the prompt first.

// The keys of config.json.
struct DecoderKeys {
  std::string layers = "num_hidden_layers";
  std::string d_model = "hidden_size";
  std::string heads = "num_attention_heads";       // empty: no layer attends
  std::string feed_forward = "intermediate_size";  // empty: no such key
  // Factor of d_model that replaces an absent or null feed_forward; 0:
  // feed_forward is required.
  int feed_forward_factor = 0;
  std::string positions = "max_position_embeddings";
  int usual_positions = 0;  // if config.json has none; 0: required
  bool even_heads = true;   // d_model must be a multiple of heads
  bool any_head = false;    // the family reads its heads itself
  bool both_ways = false;   // the family reads whether attention is causal
};

// Refuses a folder that was trained for another head, since it cannot generate
// text.
void RefuseOtherHeads(ConfigReader* config);

// Reads sizes and learned positions. Refuses other heads than those that
// ReadOutputProjection reads, unless the family has its own.
StackDescription ReadDecoderConfig(ConfigReader* config,
                                   const DecoderKeys& keys);

// Refuses a boolean option whose value is not `only`, its value if absent.
void RequireBoolean(ConfigReader* config, const std::string& key, bool only);

// Reads the output projection: the decoder's token embeddings or, if
// tie_word_embeddings is false or the weights have another `head`.weight, that;
// and `head`.bias if it has one.
// There is none if the folder has only the layers ("MistralModel"), as many
// embedding models do, or if the layers are description->encoder, whose
// attention goes both ways.
//
// A sequence classifier ("LlamaForSequenceClassification") gets a head instead,
// score.weight, which reads the state of the last token that is no padding. A
// token classifier's head reads the state of each token. Neither writes text;
// both are used as encoders (model/state_use.h).
void ReadOutputProjection(ConfigReader* config, bool tied_by_default,
                          TensorReader* tensors,
                          TransformerDescription* description,
                          const std::string& head = "lm_head",
                          bool bias = false);

// Returns the generation defaults for a family's token that begins and ends
// texts, if the vocabulary has it.
nlohmann::json EndDefaults(int32_t id, const StackDescription& stack);

// Returns a causal attention whose heads share d_model evenly.
AttentionGeometry CausalGeometry(const StackDescription& stack);

// Returns a norm whose factors are 1.
NormTensors BareNorm(int size, NormTensors::Kind kind, TensorMemory* memory);

// Changes queries and keys of rotary positions that turn adjacent dimensions
// (GPT-J) to those of halves, if the layer has rotary positions.
void TurnHalves(const StackDescription& stack, AttentionDescription* attention,
                TensorMemory* memory);

// Reads the products `up` and `down` of a feed-forward without a gate.
void ReadFeedForward(TensorReader* tensors, const std::string& up,
                     const std::string& down, bool bias,
                     const StackDescription& stack, LayerDescription* layer);

// Returns the slopes of ALiBi's biases for each head, times `scale`: a
// geometric sequence for a power of two, else with each second one of the next
// power's added (Press et al. 2022).
std::vector<float> AlibiSlopes(int heads, float scale);

// Returns AttentionGeometry::clip, which is clip_qkv (OLMo, OLMoE, MPT).
float ReadClip(ConfigReader* config);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_DECODER_STACK_H_
