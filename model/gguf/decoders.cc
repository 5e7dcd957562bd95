// Decoders of attention and dense feed-forwards; see architecture.cc.
#include <algorithm>
#include <cmath>

#include "model/gguf/architecture.h"
#include "model/gguf/architecture_names.h"

namespace trivium {
namespace {

using enum GgufChange;

constexpr GgufTensorName kLlamaLayer[] = {
    {"attn_q", "self_attn.q_proj", kInterleavedQuery},
    {"attn_k", "self_attn.k_proj", kInterleavedKey},
    // Mixtral's experts.
    {"ffn_gate_inp", "block_sparse_moe.gate"},
    {"ffn_gate_exps", "block_sparse_moe.experts.{}.w1", kExperts},
    {"ffn_down_exps", "block_sparse_moe.experts.{}.w2", kExperts},
    {"ffn_up_exps", "block_sparse_moe.experts.{}.w3", kExperts},
};
constexpr GgufTensorName kGemmaLayer[] = {
    {"attn_norm", "input_layernorm", kPlusOne},
    {"attn_q_norm", "self_attn.q_norm", kPlusOne},
    {"attn_k_norm", "self_attn.k_norm", kPlusOne},
    {"post_attention_norm", "post_attention_layernorm", kPlusOne},
    {"ffn_norm", "pre_feedforward_layernorm", kPlusOne},
    {"post_ffw_norm", "post_feedforward_layernorm", kPlusOne},
};
// Gemma 1 has norms only before its sublayers.
constexpr GgufTensorName kGemma1Layer[] = {
    {"attn_norm", "input_layernorm", kPlusOne},
    {"ffn_norm", "post_attention_layernorm", kPlusOne},
};
// Layer norms of 1 + weight, whose biases are as they are.
constexpr GgufTensorName kNemotron[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm.weight", "model.norm.weight", kPlusOne},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};
constexpr GgufTensorName kNemotronLayer[] = {
    {"attn_norm.weight", "input_layernorm.weight", kPlusOne},
    {"ffn_norm.weight", "post_attention_layernorm.weight", kPlusOne},
};
constexpr GgufTensorName kStableLmLayer[] = {
    {"attn_q_norm", "self_attn.q_layernorm"},
    {"attn_k_norm", "self_attn.k_layernorm"},
};
constexpr GgufTensorName kPhi[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.final_layernorm"},
    {"output", "lm_head"},
};
constexpr GgufTensorName kPhiLayer[] = {
    {"attn_output", "self_attn.dense"},
    {"ffn_up", "mlp.fc1"},
    {"ffn_down", "mlp.fc2"},
};
constexpr GgufTensorName kPhi3Layer[] = {
    {"attn_qkv", "self_attn.qkv_proj"},
    {"ffn_up", "mlp.gate_up_proj"},
};
constexpr GgufTensorName kChatGlmLayer[] = {
    {"ffn_up", "mlp.gate_up_proj"},
};
constexpr GgufTensorName kGlm4Layer[] = {
    {"post_attention_norm", "post_self_attn_layernorm"},
    {"post_ffw_norm", "post_mlp_layernorm"},
    {"ffn_up", "mlp.gate_up_proj"},
};
// OLMo 2 and EXAONE 4 have norms behind their sublayers only.
constexpr GgufTensorName kNormsAfterLayer[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
};
constexpr GgufTensorName kSeedOssLayer[] = {
    {"post_attention_norm", "post_attention_layernorm"},
};
constexpr GgufTensorName kHunyuanLayer[] = {
    {"attn_q_norm", "self_attn.query_layernorm"},
    {"attn_k_norm", "self_attn.key_layernorm"},
};
constexpr GgufTensorName kStarcoder2Layer[] = {
    {"ffn_up", "mlp.c_fc"},
    {"ffn_down", "mlp.c_proj"},
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
  }
  // An absent window must be set, because the configurations' default is 4096.
  if (window > 0) {
    maker->Copy("sliding_window", "attention.sliding_window");
  } else {
    maker->Set("sliding_window", nullptr);
  }
}

// Ministral 3, and Mistral Small 3.1 and 3.2, whose queries do not grow.
void DescribeMistral3(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("ministral3");
  maker->Set("sliding_window", nullptr);
  const double mscale = maker->Number("rope.scaling.yarn_log_multiplier", 0);
  if (mscale != 0) {
    maker->AddToScaling("mscale", mscale);
    maker->AddToScaling("mscale_all_dim", mscale);
  }
  maker->DescribeQueryGrowth();
}

void DescribeArcee(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("arcee");
}

void DescribeNemotron(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("nemotron", kPartialRotary);
  maker->Copy("norm_eps", "attention.layer_norm_epsilon");
}

void DescribeOlmo(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("olmo");
  constexpr double kEpsilon = 1e-5;
  if (std::abs(maker->Number("attention.layer_norm_epsilon", kEpsilon) -
               kEpsilon) > 1e-3 * kEpsilon) {
    maker->Refuse("attention.layer_norm_epsilon", "it must be 1e-5");
  }
  if (maker->Number("attention.clamp_kqv", 0) != 0) {
    maker->Copy("clip_qkv", "attention.clamp_kqv");
  }
}

void DescribeQwen2(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("qwen2");
}

// The text part of Qwen2-VL and Qwen2.5-VL; a text's tokens have one position.
void DescribeQwen2Vl(ConfigMaker* maker) {
  DescribeQwen2(maker);
  maker->Consume("rope.dimension_sections");
}

void DescribeQwen3(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("qwen3");
  maker->DescribeBothWays();
}

void DescribeSmolLm3(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("smollm3");
  maker->Set("no_rope_layer_interval", 4);
}

// The largest models scale by embedding_length / heads, the others by the width
// of their heads.
void DescribeGemmaScale(ConfigMaker* maker, int layers_of_largest) {
  if (maker->Number("block_count", 0) == layers_of_largest) {
    maker->Set("query_pre_attn_scalar",
               maker->Number("embedding_length", 0) /
                   std::max(1.0, maker->Number("attention.head_count", 0)));
  } else {
    maker->Copy("query_pre_attn_scalar", "attention.key_length");
  }
}

void DescribeGemma(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("gemma");
}

void DescribeGemma2(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("gemma2");
  maker->Copy("sliding_window", "attention.sliding_window");
  maker->DescribeWindows(2);
  maker->Copy("attn_logit_softcapping", "attn_logit_softcapping");
  maker->Copy("final_logit_softcapping", "final_logit_softcapping");
  constexpr int kLargest = 46;
  DescribeGemmaScale(maker, kLargest);
}

void DescribeGemma3(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("gemma3_text");
  maker->Copy("sliding_window", "attention.sliding_window");
  maker->Copy("rope_local_base_freq", "rope.freq_base_swa");
  maker->Copy("final_logit_softcapping", "final_logit_softcapping");
  maker->DescribeBothWays();
  maker->DescribeWindows(6);
  constexpr int kLargest = 62;
  DescribeGemmaScale(maker, kLargest);
}

void DescribeGemmaEmbedding(ConfigMaker* maker) {
  DescribeGemma3(maker);
  // The shapes of the matrices say it.
  for (const char* key : {"dense_2_feat_in", "dense_2_feat_out",
                          "dense_3_feat_in", "dense_3_feat_out"}) {
    maker->Consume(key);
  }
  maker->Set("use_bidirectional_attention", true);
}

void DescribePhi(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("phi", kPartialRotary);
  // The converter writes four times the width, which is not always so.
  maker->Set("intermediate_size", maker->Rows("blk.0.ffn_up.weight"));
  maker->Copy("layer_norm_eps", "attention.layer_norm_epsilon");
  maker->Set("hidden_act", "gelu_new");
}

void DescribePhi3(ConfigMaker* maker) {
  maker->Copy("original_max_position_embeddings",
              "rope.scaling.original_context_length");
  maker->DescribeRotaryDecoder("phi3", kPartialRotary);
  const double window = maker->Number("attention.sliding_window", 0);
  maker->Set("sliding_window", nullptr);
  if (window > 0) maker->Copy("sliding_window", "attention.sliding_window");
}

void DescribeGranite(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("granite");
  maker->DescribeGraniteFactors();
}

void DescribeGlm4(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("glm4", kPartialRotary);
}

// GLM-4 of 2024. The file does not have the size of its heads.
void DescribeChatGlm(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("glm", kPartialRotary);
  const double heads = std::max(1.0, maker->Number("attention.head_count", 1));
  const double kv_heads = maker->Number("attention.head_count_kv", heads);
  const int64_t queries = maker->Rows("blk.0.attn_q.weight");
  const double size =
      queries > 0 ? static_cast<double>(queries) / heads
                  : static_cast<double>(maker->Rows("blk.0.attn_qkv.weight")) /
                        std::max(1.0, heads + 2 * kv_heads);
  if (size >= 1 && size <= 1 << 16) {
    maker->Set("head_dim", static_cast<int>(size));
    maker->Set("partial_rotary_factor",
               maker->Number("rope.dimension_count", size) / size);
  }
}

// OLMo 3 is OLMo 2 with windows.
void DescribeOlmo2(ConfigMaker* maker) {
  const bool slides = maker->Number("attention.sliding_window", 0) > 0;
  maker->DescribeRotaryDecoder(slides ? "olmo3" : "olmo2");
  if (!slides) return;
  maker->Consume("rope.freq_base_swa");
  maker->Copy("sliding_window", "attention.sliding_window");
  maker->DescribeWindows(4);
}

void DescribeExaone4(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("exaone4");
  const bool slides = maker->Number("attention.sliding_window", 0) > 0;
  maker->Set("sliding_window", nullptr);
  if (slides) maker->Copy("sliding_window", "attention.sliding_window");
  if (slides) maker->DescribeWindows(4);
}

void DescribeCommandR(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("cohere");
  maker->Copy("layer_norm_eps", "attention.layer_norm_epsilon");
  maker->Copy("logit_scale", "logit_scale");
  maker->Set("use_qk_norm", maker->Has("blk.0.attn_q_norm.weight"));
}

void DescribeCohere2(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("cohere2");
  maker->Copy("layer_norm_eps", "attention.layer_norm_epsilon");
  maker->Copy("logit_scale", "logit_scale");
  maker->Copy("sliding_window", "attention.sliding_window");
  maker->DescribeWindows(4);
}

void DescribeHunyuan(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("hunyuan_v1_dense");
}

void DescribeErnie(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("ernie4_5");
  maker->Set("use_bias", maker->Has("blk.0.attn_q.bias"));
}

void DescribeSeedOss(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("seed_oss");
  maker->Set("attention_out_bias", maker->Has("blk.0.attn_output.bias"));
}

void DescribeStarcoder2(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("starcoder2");
  maker->Copy("norm_epsilon", "attention.layer_norm_epsilon");
  maker->Set("use_bias", maker->Has("blk.0.attn_q.bias"));
  maker->Set("hidden_act", "gelu_pytorch_tanh");
  maker->Set("sliding_window", nullptr);
  maker->Copy("sliding_window", "attention.sliding_window");
}

void DescribeStableLm(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("stablelm", kPartialRotary);
  maker->Copy("layer_norm_eps", "attention.layer_norm_epsilon");
  maker->Copy("use_parallel_residual", "use_parallel_residual");
  maker->Set("use_qkv_bias", maker->Has("blk.0.attn_q.bias"));
  maker->Set("qk_layernorm", maker->Has("blk.0.attn_q_norm.weight"));
}

constexpr GgufArchitecture kDecoders[] = {
    {"arcee", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kLlamaLayer,
     DescribeArcee},
    {"chatglm", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kChatGlmLayer,
     DescribeChatGlm},
    {"command-r",
     kGgufLayers,
     kGgufDecoder,
     kGgufDecoderLayer,
     {},
     DescribeCommandR},
    {"cohere2",
     kGgufLayers,
     kGgufDecoder,
     kGgufDecoderLayer,
     {},
     DescribeCohere2},
    {"ernie4_5",
     kGgufLayers,
     kGgufDecoder,
     kGgufDecoderLayer,
     {},
     DescribeErnie},
    // LLaMA with heads as they are.
    {"exaone", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, {}, DescribeLlama},
    {"exaone4", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kNormsAfterLayer,
     DescribeExaone4},
    {"gemma", kGgufLayers, kGgufPlusOneDecoder, kGgufDecoderLayer, kGemma1Layer,
     DescribeGemma},
    {"gemma-embedding", kGgufLayers, kGgufPlusOneDecoder, kGgufDecoderLayer,
     kGemmaLayer, DescribeGemmaEmbedding},
    {"gemma2", kGgufLayers, kGgufPlusOneDecoder, kGgufDecoderLayer, kGemmaLayer,
     DescribeGemma2},
    {"gemma3", kGgufLayers, kGgufPlusOneDecoder, kGgufDecoderLayer, kGemmaLayer,
     DescribeGemma3},
    {"glm4", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kGlm4Layer,
     DescribeGlm4},
    {"granite", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kLlamaLayer,
     DescribeGranite},
    {"hunyuan-dense", kGgufLayers, kGgufDecoder, kGgufDecoderLayer,
     kHunyuanLayer, DescribeHunyuan},
    {"llama", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kLlamaLayer,
     DescribeLlama},
    {"mistral3", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kLlamaLayer,
     DescribeMistral3},
    {"nemotron", kGgufLayers, kNemotron, kGgufDecoderLayer, kNemotronLayer,
     DescribeNemotron},
    {"olmo", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kLlamaLayer,
     DescribeOlmo},
    {"olmo2", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kNormsAfterLayer,
     DescribeOlmo2},
    {"phi2", kGgufLayers, kPhi, kGgufDecoderLayer, kPhiLayer, DescribePhi},
    {"phi3", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kPhi3Layer,
     DescribePhi3},
    {"qwen2", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, {}, DescribeQwen2},
    {"qwen2vl",
     kGgufLayers,
     kGgufDecoder,
     kGgufDecoderLayer,
     {},
     DescribeQwen2Vl},
    {"qwen3", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, {}, DescribeQwen3},
    {"seed_oss", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kSeedOssLayer,
     DescribeSeedOss},
    {"smollm3", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kLlamaLayer,
     DescribeSmolLm3},
    {"stablelm", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kStableLmLayer,
     DescribeStableLm},
    {"starcoder2", kGgufLayers, kGgufDecoder, kGgufDecoderLayer,
     kStarcoder2Layer, DescribeStarcoder2},
};

}  // namespace

std::span<const GgufArchitecture> GgufDecoders() { return kDecoders; }

}  // namespace trivium
