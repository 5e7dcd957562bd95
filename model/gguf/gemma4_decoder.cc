// Gemma 4; see architecture.cc.
#include <algorithm>
#include <string>
#include <utility>

#include "model/gguf/architecture.h"
#include "model/gguf/architecture_names.h"

namespace trivium {
namespace {

using enum GgufChange;
using nlohmann::json;

constexpr GgufTensorName kGemma4[] = {
    {"token_embd", "model.embed_tokens"},
    {"per_layer_token_embd", "model.embed_tokens_per_layer"},
    {"per_layer_model_proj", "model.per_layer_model_projection"},
    {"per_layer_proj_norm", "model.per_layer_projection_norm"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};
constexpr GgufTensorName kGemma4Layer[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"layer_output_scale.weight", "layer_scalar"},
    // The token's inputs.
    {"inp_gate", "per_layer_input_gate"},
    {"proj", "per_layer_projection"},
    {"post_norm", "post_per_layer_input_norm"},
    // Experts beside the dense feed-forward.
    {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
    {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
    {"post_ffw_norm_2", "post_feedforward_layernorm_2"},
    {"ffn_gate_inp.scale", "router.scale", kVector},
    {"ffn_gate_inp", "router.proj"},
    {"ffn_down_exps.scale", "router.per_expert_scale", kVector},
    {"ffn_down_exps.weight", "experts.down_proj"},
    {"ffn_gate_up_exps.weight", "experts.gate_up_proj"},
    {"ffn_gate_exps.weight", "experts.gate_up_proj", kNone, 0},
    {"ffn_up_exps.weight", "experts.gate_up_proj", kNone, 1},
};

// The value of a list's layer, or the one of all layers.
json OfLayer(const json* values, size_t layer) {
  if (values == nullptr || !values->is_array()) {
    return values == nullptr ? json() : *values;
  }
  return layer < values->size() ? (*values)[layer] : json();
}

// Sets the heads: each layer without a window has its own.
void DescribeHeads(ConfigMaker* maker, const json& slides) {
  const json* const kv_heads = maker->Consume("attention.head_count_kv");
  const json* const size = maker->Consume("attention.key_length");
  maker->Copy("head_dim", "attention.key_length_swa");
  for (const auto& [value, key] :
       {std::pair("attention.value_length", "attention.key_length"),
        {"attention.value_length_swa", "attention.key_length_swa"}}) {
    const double wide = maker->Number(key, 0);
    if (maker->Number(value, wide) != wide) {
      maker->Refuse(value, "values must be as wide as keys");
    }
  }
  json full = json::object();
  for (size_t i = 0; i < slides.size(); ++i) {
    const json heads = OfLayer(kv_heads, i);
    if (slides[i] == true) {
      if (!heads.is_null()) maker->Set("num_key_value_heads", heads);
      continue;
    }
    json& layer = full[std::to_string(i)] = json::object();
    if (size != nullptr) layer["head_dim"] = *size;
    if (!heads.is_null()) layer["num_key_value_heads"] = heads;
  }
  maker->Set("per_layer_config", std::move(full));
  // A layer without values uses its keys; one that reads another layer's has
  // neither.
  bool without = false;
  for (size_t i = 0; i < slides.size(); ++i) {
    const std::string name = "blk." + std::to_string(i) + ".attn_";
    without = without || (slides[i] != true && maker->Has(name + "k.weight") &&
                          !maker->Has(name + "v.weight"));
  }
  maker->Set("attention_k_eq_v", without);
}

void DescribeRotaries(ConfigMaker* maker) {
  const double size = maker->Number("attention.key_length", 0);
  const double size_swa = maker->Number("attention.key_length_swa", 0);
  if (maker->Number("rope.dimension_count", size) != size) {
    maker->Refuse("rope.dimension_count",
                  "rotary positions must cover whole heads");
  }
  if (maker->Number("rope.dimension_count_swa", size_swa) != size_swa) {
    maker->Refuse("rope.dimension_count_swa",
                  "rotary positions must cover whole heads");
  }
  maker->RequireNoScaling();
  maker->Set("rope_parameters",
             {{"full_attention",
               {{"rope_type", "proportional"},
                {"partial_rotary_factor", maker->TurnedShare()},
                {"rope_theta", maker->Number("rope.freq_base", 1e6)}}},
              {"sliding_attention",
               {{"rope_type", "default"},
                {"rope_theta", maker->Number("rope.freq_base_swa", 1e4)}}}});
}

// Layers that read the keys of others may be twice as wide.
void DescribeWidths(ConfigMaker* maker) {
  const json* const widths = maker->Consume("feed_forward_length");
  if (widths == nullptr || !widths->is_array() || widths->empty()) return;
  maker->Set("intermediate_size", widths->front());
  maker->Set("use_double_wide_mlp", widths->front() != widths->back());
}

void DescribeGemma4(ConfigMaker* maker) {
  maker->DescribeDecoder("gemma4_text");
  maker->Copy("rms_norm_eps", "attention.layer_norm_rms_epsilon");
  maker->Copy("sliding_window", "attention.sliding_window");
  maker->Copy("final_logit_softcapping", "final_logit_softcapping");
  maker->Copy("num_kv_shared_layers", "attention.shared_kv_layers");
  const json* const pattern =
      maker->Consume("attention.sliding_window_pattern");
  if (pattern == nullptr || !pattern->is_array()) {
    maker->Refuse("attention.sliding_window_pattern",
                  "it must say of each layer whether it has a window");
    return;
  }
  maker->DescribeLayerTypes(*pattern, "sliding_attention", "full_attention");
  DescribeHeads(maker, *pattern);
  DescribeRotaries(maker);
  DescribeWidths(maker);
  maker->Set("hidden_size_per_layer_input", 0);
  maker->Copy("hidden_size_per_layer_input",
              "embedding_length_per_layer_input");
  if (const int64_t rows = maker->Rows("per_layer_token_embd.weight");
      rows > 0) {
    maker->Set("vocab_size_per_layer_input", rows);
  }
  const bool experts = maker->Number("expert_count", 0) > 0;
  maker->Set("enable_moe_block", experts);
  if (!experts) return;
  maker->Copy("num_experts", "expert_count");
  maker->Copy("top_k_experts", "expert_used_count");
  maker->Copy("moe_intermediate_size", "expert_feed_forward_length");
}

constexpr GgufArchitecture kArchitectures[] = {
    {"gemma4", kGgufLayers, kGemma4, kGgufDecoderLayer, kGemma4Layer,
     DescribeGemma4},
};

}  // namespace

std::span<const GgufArchitecture> GgufGemma4() { return kArchitectures; }

}  // namespace trivium
