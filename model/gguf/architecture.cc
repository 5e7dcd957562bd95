// For each architecture: the names of its tensors (gguf-py's
// tensor_mapping.py), the changes that llama.cpp's converter makes to them
// (Transformers' modeling_gguf_pytorch_utils.py undoes them, too), and the
// config.json that describes it. A GGUF file omits some values, because
// llama.cpp's loader assumes them; the functions below add these.
//
// A layer's tensor is looked up in own_tensors first, then in layer_tensors, so
// an architecture may override a name of its kin.
//
// A value that no function consumes is a problem of the file. So a function
// also consumes what it does not need, such as GPT-2's attention.head_count_kv.
#include "model/gguf/architecture.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace trivium {
namespace {

using nlohmann::json;
using Name = GgufTensorName;
using enum GgufChange;

constexpr Name kDecoder[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};
constexpr Name kGemma[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm", kPlusOne},
    {"output", "lm_head"},
};
constexpr Name kGpt2[] = {
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
};

constexpr Name kDecoderLayer[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"attn_output", "self_attn.o_proj"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};
constexpr Name kLlamaLayer[] = {
    {"attn_q", "self_attn.q_proj", kInterleavedQuery},
    {"attn_k", "self_attn.k_proj", kInterleavedKey},
    // Mixtral's experts.
    {"ffn_gate_inp", "block_sparse_moe.gate"},
    {"ffn_gate_exps", "block_sparse_moe.experts.{}.w1", kExperts},
    {"ffn_down_exps", "block_sparse_moe.experts.{}.w2", kExperts},
    {"ffn_up_exps", "block_sparse_moe.experts.{}.w3", kExperts},
};
constexpr Name kQwen3MoeLayer[] = {
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_exps", "mlp.experts.{}.gate_proj", kExperts},
    {"ffn_down_exps", "mlp.experts.{}.down_proj", kExperts},
    {"ffn_up_exps", "mlp.experts.{}.up_proj", kExperts},
};
constexpr Name kGptOssLayer[] = {
    {"attn_sinks", "self_attn.sinks"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_gate_inp", "mlp.router"},
    {"ffn_gate_exps", "mlp.experts.{}.gate_proj", kExperts},
    {"ffn_down_exps", "mlp.experts.{}.down_proj", kExperts},
    {"ffn_up_exps", "mlp.experts.{}.up_proj", kExperts},
};
constexpr Name kGemmaLayer[] = {
    {"attn_norm", "input_layernorm", kPlusOne},
    {"attn_q_norm", "self_attn.q_norm", kPlusOne},
    {"attn_k_norm", "self_attn.k_norm", kPlusOne},
    {"post_attention_norm", "post_attention_layernorm", kPlusOne},
    {"ffn_norm", "pre_feedforward_layernorm", kPlusOne},
    {"post_ffw_norm", "post_feedforward_layernorm", kPlusOne},
};
constexpr Name kGpt2Layer[] = {
    {"attn_norm", "ln_1"},
    {"attn_qkv", "attn.c_attn", kTransposed},
    {"attn_output", "attn.c_proj", kTransposed},
    {"ffn_norm", "ln_2"},
    {"ffn_up", "mlp.c_fc", kTransposed},
    {"ffn_down", "mlp.c_proj", kTransposed},
};

void DescribeLlama(ConfigMaker* maker) {
  const bool mixture = maker->Number("expert_count", 0) > 0;
  const double window = maker->Number("attention.sliding_window", 0);
  maker->DescribeRotaryDecoder(mixture      ? "mixtral"
                               : window > 0 ? "mistral"
                                            : "llama");
  if (mixture) {
    maker->DescribeExperts("num_local_experts");
  } else {
    maker->Consume("expert_used_count");
    maker->Set("attention_bias", maker->Has("blk.0.attn_q.bias"));
    maker->Set("mlp_bias", maker->Has("blk.0.ffn_up.bias"));
  }
  // An absent window must be set, because the configurations' default is 4096.
  if (window > 0) {
    maker->Copy("sliding_window", "attention.sliding_window");
  } else {
    maker->Set("sliding_window", nullptr);
  }
}

void DescribeQwen2(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("qwen2");
}

void DescribeQwen3(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("qwen3");
  maker->Set("attention_bias", maker->Has("blk.0.attn_q.bias"));
}

void DescribeQwen3Moe(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("qwen3_moe");
  maker->DescribeExperts("num_experts");
  maker->Copy("moe_intermediate_size", "expert_feed_forward_length");
  // llama.cpp assumes it, and every published model has it.
  maker->Set("norm_topk_prob", true);
}

void DescribeGptOss(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("gpt_oss");
  maker->DescribeExperts("num_local_experts");
  maker->Copy("intermediate_size", "expert_feed_forward_length");
  maker->Copy("sliding_window", "attention.sliding_window");
  // YaRN's band of frequencies is that of the published configuration, whose
  // ends are not rounded ("truncate"); the file does not say so.
  const double factor = maker->Number("rope.scaling.factor", 32);
  const double original = std::clamp(
      maker->Number("rope.scaling.original_context_length", 4096), 1.0, 1e9);
  maker->Set("rope_scaling",
             {{"rope_type", "yarn"},
              {"factor", factor},
              {"beta_fast", maker->Number("rope.scaling.yarn_beta_fast", 32)},
              {"beta_slow", maker->Number("rope.scaling.yarn_beta_slow", 1)},
              {"original_max_position_embeddings", static_cast<int>(original)},
              {"truncate", false}});
}

void DescribeSmolLm3(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("smollm3");
  maker->Set("no_rope_layer_interval", 4);
  maker->Set("attention_bias", maker->Has("blk.0.attn_q.bias"));
}

void DescribeGemma3(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("gemma3_text");
  maker->Copy("sliding_window", "attention.sliding_window");
  maker->Copy("rope_local_base_freq", "rope.freq_base_swa");
  const json* const pattern =
      maker->Consume("attention.sliding_window_pattern");
  if (pattern != nullptr && pattern->is_array()) {
    json types = json::array();
    for (const json& slides : *pattern) {
      types.push_back(slides == true ? "sliding_attention" : "full_attention");
    }
    maker->Set("layer_types", std::move(types));
  } else {
    maker->Set("sliding_window_pattern",
               pattern == nullptr ? json(6) : *pattern);
  }
  // The largest model, with 62 layers, scales by embedding_length / heads; the
  // others by the width of their heads.
  constexpr int kLargest = 62;
  if (maker->Number("block_count", 0) == kLargest) {
    maker->Set("query_pre_attn_scalar",
               maker->Number("embedding_length", 0) /
                   std::max(1.0, maker->Number("attention.head_count", 0)));
  } else {
    maker->Copy("query_pre_attn_scalar", "attention.key_length");
  }
}

void DescribeGpt2(ConfigMaker* maker) {
  maker->Set("model_type", "gpt2");
  maker->Copy("n_positions", "context_length");
  maker->Copy("n_layer", "block_count");
  maker->Copy("n_embd", "embedding_length");
  maker->Copy("n_inner", "feed_forward_length");
  maker->Copy("n_head", "attention.head_count");
  maker->Copy("layer_norm_epsilon", "attention.layer_norm_epsilon");
  maker->Consume("attention.head_count_kv");
}

constexpr char kLayers[] = "model.layers.{}.";

constexpr GgufArchitecture kArchitectures[] = {
    {"gemma3", kLayers, kGemma, kDecoderLayer, kGemmaLayer, DescribeGemma3},
    {"gpt-oss", kLayers, kDecoder, kDecoderLayer, kGptOssLayer, DescribeGptOss},
    {"gpt2", "transformer.h.{}.", kGpt2, {}, kGpt2Layer, DescribeGpt2},
    {"llama", kLayers, kDecoder, kDecoderLayer, kLlamaLayer, DescribeLlama},
    {"qwen2", kLayers, kDecoder, kDecoderLayer, {}, DescribeQwen2},
    {"qwen3", kLayers, kDecoder, kDecoderLayer, {}, DescribeQwen3},
    {"qwen3moe", kLayers, kDecoder, kDecoderLayer, kQwen3MoeLayer,
     DescribeQwen3Moe},
    {"smollm3", kLayers, kDecoder, kDecoderLayer, kLlamaLayer, DescribeSmolLm3},
};

}  // namespace

const GgufArchitecture* FindGgufArchitecture(std::string_view name) {
  const auto found = std::find_if(
      std::begin(kArchitectures), std::end(kArchitectures),
      [name](const GgufArchitecture& known) { return known.name == name; });
  return found == std::end(kArchitectures) ? nullptr : found;
}

std::string GgufArchitectureNames() {
  std::string names;
  for (const GgufArchitecture& known : kArchitectures) {
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return names;
}

}  // namespace trivium
