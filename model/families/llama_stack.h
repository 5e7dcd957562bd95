#ifndef TRIVIUM_MODEL_FAMILIES_LLAMA_STACK_H_
#define TRIVIUM_MODEL_FAMILIES_LLAMA_STACK_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/config_reader.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// What LLaMA and its descendants have in common: a decoder with rotary
// positions, RMS norms before each sublayer, a gated feed-forward, and heads of
// keys and values that several heads of queries share. The families differ in
// what these structs hold; LLaMA's are the defaults.

struct LlamaKeys {
  std::string activation = "hidden_act";
  Activation usual_activation = Activation::kSwish;
  // Of a head where config.json has none; 0: d_model / heads.
  int head_size = 0;
  // Where config.json has none; 0: as many as heads of queries.
  int kv_heads = 0;
  double epsilon = 1e-6;
};

// The sizes, without layers, rotary positions and tensors; `geometry` becomes
// that of a layer that sees everything before it.
StackDescription ReadLlamaConfig(ConfigReader* config, const LlamaKeys& keys,
                                 AttentionGeometry* geometry);

// Rotary positions of whole heads, the same for all layers of `geometry`.
void ReadLlamaRotary(ConfigReader* config, double usual_theta,
                     AttentionGeometry* geometry, StackDescription* stack);

// Of each layer whether it sees a window only: layer_types or, where
// config.json has none, `usual`.
std::vector<bool> ReadLayerTypes(ConfigReader* config, std::vector<bool> usual);

// The geometries of layers, those that slide seeing `window` tokens only,
// themselves among them. 0 is a problem where a layer slides.
std::vector<AttentionGeometry> SlidingGeometries(
    ConfigReader* config, const AttentionGeometry& geometry, int window,
    const std::vector<bool>& slides);

// The windows of Qwen and SmolLM 3: sliding_window where use_sliding_window is
// true, else 0.
int ReadSwitchedWindow(ConfigReader* config, int usual);

struct LlamaTensors {
  bool attention_bias = false;  // of queries, keys and values
  bool output_bias = false;     // of attention
  bool feed_forward_bias = false;
  bool head_norms = false;       // q_norm and k_norm
  bool one_plus_weight = false;  // of all norms
  // input_layernorm and post_attention_layernorm of attention, and
  // pre_feedforward_layernorm and post_feedforward_layernorm of the
  // feed-forward (Gemma), instead of a norm before each.
  bool norms_of_output = false;
};

// Reads what is special of layer `name`, the `i`th, besides attention and
// norms: its feed-forward.
using LlamaLayerReader = absl::FunctionRef<void(int i, const std::string& name,
                                                LayerDescription* layer)>;

// Embeddings, all layers, and the final norm.
void ReadLlamaTensors(TensorReader* tensors, const LlamaTensors& has,
                      const std::vector<AttentionGeometry>& geometries,
                      LlamaLayerReader read_feed_forward,
                      StackDescription* stack);
// With one gated feed-forward in each layer, `mlp`.
void ReadLlamaTensors(TensorReader* tensors, const LlamaTensors& has,
                      const std::vector<AttentionGeometry>& geometries,
                      StackDescription* stack);
// That of layer `name`, with `inner` numbers between its products.
void ReadGatedFeedForward(TensorReader* tensors, const std::string& name,
                          int inner, bool bias, const StackDescription& stack,
                          LayerDescription* layer);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_LLAMA_STACK_H_
