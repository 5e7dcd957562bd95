#ifndef TRIVIUM_MODEL_FAMILIES_LLAMA_STACK_H_
#define TRIVIUM_MODEL_FAMILIES_LLAMA_STACK_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/config_reader.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// The common parts of LLaMA and its descendants: a decoder with rotary
// positions, RMS norms before each sublayer, a gated feed-forward, and heads of
// keys and values that several query heads share. The families differ in what
// these structs hold; LLaMA's are the defaults.

struct LlamaKeys {
  std::string activation = "hidden_act";
  Activation usual_activation = Activation::kSwish;
  // Size of a head if config.json has none; 0: d_model / heads.
  int head_size = 0;
  // Heads of keys and values if config.json has none; 0: as many as query
  // heads.
  int kv_heads = 0;
  double epsilon = 1e-6;
  bool any_head = false;  // see DecoderKeys
};

// Reads the sizes, without layers, rotary positions and tensors. `geometry`
// becomes that of a layer that sees everything before it.
StackDescription ReadLlamaConfig(ConfigReader* config, const LlamaKeys& keys,
                                 AttentionGeometry* geometry);

// True if tokens also see those after them: use_bidirectional_attention is true
// or is_causal is false. Then the layers are an encoder.
bool ReadBothWays(ConfigReader* config);

// Reads rotary positions of whole heads, shared by all layers of `geometry`.
void ReadLlamaRotary(ConfigReader* config, double usual_theta,
                     AttentionGeometry* geometry, StackDescription* stack);

// Returns for each layer whether it has a window: layer_types or, if
// config.json has none, `usual`.
std::vector<bool> ReadLayerTypes(ConfigReader* config, std::vector<bool> usual);

// Returns the layers' geometries. Layers that slide see `window` tokens, their
// own included; a window of 0 is a problem if a layer slides.
std::vector<AttentionGeometry> SlidingGeometries(
    ConfigReader* config, const AttentionGeometry& geometry, int window,
    const std::vector<bool>& slides);

// Returns the window of Qwen and SmolLM 3: sliding_window if use_sliding_window
// is true, else 0.
int ReadSwitchedWindow(ConfigReader* config, int usual);

struct LlamaTensors {
  bool attention_bias = false;  // of queries, keys and values
  bool output_bias = false;     // of the output of attention
  bool feed_forward_bias = false;
  bool head_norms = false;       // q_norm and k_norm
  bool one_plus_weight = false;  // all norms have the factor 1 + weight
  // Norms before and after each sublayer (Gemma) instead of one before it:
  // input_layernorm and post_attention_layernorm of attention;
  // pre_feedforward_layernorm and post_feedforward_layernorm of the
  // feed-forward.
  bool norms_of_output = false;
};

// Reads the rest of layer `name`, the `i`th, after attention and norms: its
// feed-forward.
using LlamaLayerReader = absl::FunctionRef<void(int i, const std::string& name,
                                                LayerDescription* layer)>;

// Reads embeddings, all layers, and the final norm.
void ReadLlamaTensors(TensorReader* tensors, const LlamaTensors& has,
                      const std::vector<AttentionGeometry>& geometries,
                      LlamaLayerReader read_feed_forward,
                      StackDescription* stack);
// Reads them with one gated feed-forward in each layer, `mlp`.
void ReadLlamaTensors(TensorReader* tensors, const LlamaTensors& has,
                      const std::vector<AttentionGeometry>& geometries,
                      StackDescription* stack);
// Reads the feed-forward of layer `name`, `inner` wide between its products.
void ReadGatedFeedForward(TensorReader* tensors, const std::string& name,
                          int inner, bool bias, const StackDescription& stack,
                          LayerDescription* layer);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_LLAMA_STACK_H_
