#ifndef TRIVIUM_MODEL_FAMILIES_LLAMA_STACK_H_
#define TRIVIUM_MODEL_FAMILIES_LLAMA_STACK_H_

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/config_reader.h"
#include "model/families/derived_tensors.h"
#include "model/families/family_reader.h"
#include "model/families/rotary_config.h"
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
  std::string feed_forward = "intermediate_size";
  std::string epsilon_key = "rms_norm_eps";
  double epsilon = 1e-6;
  bool any_head = false;   // see DecoderKeys
  bool both_ways = false;  // see DecoderKeys
};

// Reads the sizes, without layers, rotary positions and tensors. `geometry`
// becomes that of a layer that sees everything before it.
StackDescription ReadLlamaConfig(ConfigReader* config, const LlamaKeys& keys,
                                 AttentionGeometry* geometry);

// True if tokens also see those after them: use_bidirectional_attention is true
// or is_causal is false. Then the layers are an encoder.
bool ReadBothWays(ConfigReader* config);

// Reads rotary positions that all layers of `geometry` share. The first form is
// for families that turn whole heads; the second sets head_size and
// max_positions of `defaults` itself.
void ReadLlamaRotary(ConfigReader* config, double usual_theta,
                     AttentionGeometry* geometry, StackDescription* stack);
void ReadLlamaRotary(ConfigReader* config, RotaryDefaults defaults,
                     AttentionGeometry* geometry, StackDescription* stack);

// Returns the layers with windows where only each nth layer, from the nth on,
// sees everything.
std::vector<bool> EachNthIsFull(int n, int layers);

// Returns for each layer whether it has a window: layer_types or, if
// config.json has none, `usual`.
std::vector<bool> ReadLayerTypes(ConfigReader* config, std::vector<bool> usual);

// Returns the layers' geometries. Layers that slide see `window` tokens, their
// own included; a window of 0 is a problem if a layer slides.
std::vector<AttentionGeometry> SlidingGeometries(
    ConfigReader* config, const AttentionGeometry& geometry, int window,
    const std::vector<bool>& slides);
// Returns those of a family whose layers all see sliding_window tokens, or
// everything before them if config.json has no such key.
std::vector<AttentionGeometry> SlidingGeometries(
    ConfigReader* config, const AttentionGeometry& geometry, int layers);

// Returns the window of Qwen and SmolLM 3: sliding_window if use_sliding_window
// is true, else 0.
int ReadSwitchedWindow(ConfigReader* config, int usual);

// The names of a layer's norms; empty: there is none. By default there is one
// before each sublayer.
struct LlamaNorms {
  std::string before_attention = "input_layernorm";
  std::string of_attention = {};  // of its output
  std::string before_feed_forward = "post_attention_layernorm";
  std::string of_feed_forward = {};
};
// Gemma has norms before and after each sublayer, OLMo 2 only after it.
inline const LlamaNorms kGemmaNorms = {
    .of_attention = "post_attention_layernorm",
    .before_feed_forward = "pre_feedforward_layernorm",
    .of_feed_forward = "post_feedforward_layernorm"};
inline const LlamaNorms kOlmoNorms = {
    .before_attention = {},
    .of_attention = "post_attention_layernorm",
    .before_feed_forward = {},
    .of_feed_forward = "post_feedforward_layernorm"};

struct LlamaTensors {
  bool attention_bias = false;  // of queries, keys and values
  bool output_bias = false;     // of the output of attention
  bool feed_forward_bias = false;
  bool head_norms = false;          // of queries and keys
  bool norms_after_rotary = false;  // see AttentionDescription
  std::string query_norm = "q_norm", key_norm = "k_norm";
  bool wide_head_norms = false;  // each is one norm over all heads
  bool own_head_norms = false;   // each head has factors of its own
  // Each head's queries in q_proj are followed by the gates of its output
  // (Qwen3-Next).
  bool gated_output = false;
  // False for layers without self-attention, which have a mixer; empty: all
  // have self-attention.
  std::vector<bool> attends = {};
  bool one_plus_weight = false;  // all norms have the factor 1 + weight
  bool bare_norms = false;       // norms have no factors, and no tensors
  NormTensors::Kind norm_kind = NormTensors::Kind::kRms;
  bool norm_bias = false;
  LlamaNorms norms = {};
  std::string final_norm = "norm";
  std::string output = "o_proj";     // of attention
  bool joined_attention = false;     // qkv_proj
  bool joined_feed_forward = false;  // gate_up_proj
  bool gated = true;  // false: feed-forwards are up_proj and down_proj alone
  // Rotary positions turn adjacent dimensions (GPT-J), not halves.
  bool turns_adjacent = false;
  bool parallel = false;  // see LayerDescription; both sublayers read one norm
  float residual_factor = 1;  // see SublayerNorms
  bool head_bias = false;     // of the output projection
  // Reads the i-th layer's attention, whose name ends with a dot, if it is none
  // of these.
  std::function<AttentionDescription(TensorReader* tensors, int i,
                                     const std::string& name)>
      read_attention = {};
  std::string prefix = "model.";  // that the names of tensors may begin with
  // Holds tensors that are made here. ReadLlamaModel sets it; needed only for
  // turns_adjacent, bare_norms and own_head_norms.
  TensorMemory* memory = nullptr;
  // The factors of bare_norms, which all layers share: [d_model], and
  // [head_size] of the first layer. ReadLlamaModel sets them.
  std::array<NormTensors, 2> ones = {};
};

// Reads the rest of layer `name`, the `i`th, after attention and norms: its
// feed-forward and its mixer.
using LlamaLayerReader =
    absl::FunctionRef<void(TensorReader* tensors, int i,
                           const std::string& name, LayerDescription* layer)>;

// Reads all tensors of a model of such layers, and its output projection or
// classifier. Reads none after a problem, or without weights. `geometries` has
// one for each layer, or one for all of them. Without `read_rest`, each layer
// has one gated feed-forward, `mlp`.
void ReadLlamaModel(FamilyReader* family, LlamaTensors has,
                    std::vector<AttentionGeometry> geometries,
                    bool tied_by_default, LlamaLayerReader read_rest,
                    TransformerDescription* description);
void ReadLlamaModel(FamilyReader* family, const LlamaTensors& has,
                    std::vector<AttentionGeometry> geometries,
                    bool tied_by_default, TransformerDescription* description);

// The parts of ReadLlamaModel, for families with something else in between.

// Reads embeddings, unless the stack has those of another one, all layers, and
// the final norm.
void ReadLlamaTensors(TensorReader* tensors, const LlamaTensors& has,
                      const std::vector<AttentionGeometry>& geometries,
                      LlamaLayerReader read_rest, StackDescription* stack);
// Reads them with one gated feed-forward in each layer, `mlp`.
void ReadLlamaTensors(TensorReader* tensors, const LlamaTensors& has,
                      const std::vector<AttentionGeometry>& geometries,
                      StackDescription* stack);
// Reads the products gate_proj, up_proj and down_proj of the feed-forward
// `block`, which ends with a dot and is `inner` wide between them.
ExpertTensors ReadGated(TensorReader* tensors, const std::string& block,
                        int inner, bool bias, int d_model);
// The same as a layer's feed-forward.
void ReadGatedFeedForward(TensorReader* tensors, const std::string& block,
                          int inner, bool bias, int d_model,
                          LayerDescription* layer);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_LLAMA_STACK_H_
