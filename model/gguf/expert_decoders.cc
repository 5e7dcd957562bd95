// Decoders whose feed-forwards are experts, and those with latent attention;
// see architecture.cc.
#include <algorithm>

#include "model/gguf/architecture.h"
#include "model/gguf/architecture_names.h"

namespace trivium {
namespace {

constexpr GgufTensorName kGptOssLayer[] = {
    {"attn_sinks", "self_attn.sinks"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_gate_inp", "mlp.router"},
};
// Experts of DeepSeek and GLM: scores have a correction, and some experts are
// shared by all tokens.
constexpr GgufTensorName kSharedExperts[] = {
    {"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"},
    {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
    {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
    {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
};
constexpr GgufTensorName kGlm4Moe[] = {
    {"post_attention_norm", "post_attention_layernorm"},
};
constexpr GgufTensorName kDeepSeek[] = {
    {"attn_q_a", "self_attn.q_a_proj"},
    {"attn_q_a_norm", "self_attn.q_a_layernorm"},
    {"attn_q_b", "self_attn.q_b_proj"},
    {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
    {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
    {"attn_kv_b", "self_attn.kv_b_proj"},  // in files before 2025
    {"attn_k_b", "self_attn.kv_b_proj", GgufChange::kHeadColumns, 0},
    {"attn_v_b", "self_attn.kv_b_proj", GgufChange::kHeadRows, 1},
};
constexpr GgufTensorName kSharedAndRouter[] = {
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
    {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
    {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
};
// Mistral 4's experts are stacked in the folder, too.
constexpr GgufTensorName kStackedExperts[] = {
    {"ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj"},
    {"ffn_gate_exps.weight", "mlp.experts.gate_up_proj", GgufChange::kNone, 0},
    {"ffn_up_exps.weight", "mlp.experts.gate_up_proj", GgufChange::kNone, 1},
    {"ffn_down_exps.weight", "mlp.experts.down_proj"},
};
constexpr GgufTensorName kErnieMoeLayer[] = {
    {"exp_probs_b.bias", "mlp.moe_statics.e_score_correction_bias",
     GgufChange::kRow},
    {"exp_probs_b", "mlp.moe_statics.e_score_correction_bias",
     GgufChange::kRow},
    {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
    {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
    {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
};
constexpr GgufTensorName kMixtralExperts[] = {
    {"ffn_gate_inp", "block_sparse_moe.gate"},
    {"ffn_gate_exps", "block_sparse_moe.experts.{}.w1", GgufChange::kExperts},
    {"ffn_down_exps", "block_sparse_moe.experts.{}.w2", GgufChange::kExperts},
    {"ffn_up_exps", "block_sparse_moe.experts.{}.w3", GgufChange::kExperts},
};
constexpr GgufTensorName kMiniMaxLayer[] = {
    {"exp_probs_b.bias", "block_sparse_moe.e_score_correction_bias"},
    {"exp_probs_b", "block_sparse_moe.e_score_correction_bias"},
};
constexpr GgufTensorName kHunyuanMoeLayer[] = {
    {"attn_q_norm", "self_attn.query_layernorm"},
    {"attn_k_norm", "self_attn.key_layernorm"},
    {"ffn_gate_inp", "mlp.gate.wg"},
    {"ffn_gate_shexp", "mlp.shared_mlp.gate_proj"},
    {"ffn_down_shexp", "mlp.shared_mlp.down_proj"},
    {"ffn_up_shexp", "mlp.shared_mlp.up_proj"},
};
constexpr GgufTensorName kQwen2MoeLayer[] = {
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate", GgufChange::kRow},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
};
constexpr GgufTensorName kGraniteMoeLayer[] = {
    {"attn_q", "self_attn.q_proj", GgufChange::kInterleavedQuery},
    {"attn_k", "self_attn.k_proj", GgufChange::kInterleavedKey},
    {"ffn_gate_shexp", "shared_mlp.input_linear", GgufChange::kNone, 0},
    {"ffn_up_shexp", "shared_mlp.input_linear", GgufChange::kNone, 1},
    {"ffn_down_shexp", "shared_mlp.output_linear"},
    {"ffn_gate_inp", "block_sparse_moe.router.layer"},
    {"ffn_gate_exps", "block_sparse_moe.input_linear", GgufChange::kNone, 0},
    {"ffn_up_exps", "block_sparse_moe.input_linear", GgufChange::kNone, 1},
    {"ffn_down_exps", "block_sparse_moe.output_linear"},
};
constexpr auto kMiniMaxM2Layer = JoinGgufNames(kMiniMaxLayer, kMixtralExperts);
constexpr auto kGlm4MoeLayer = JoinGgufNames(kGlm4Moe, kSharedExperts);
constexpr auto kDeepSeekLayer = JoinGgufNames(kDeepSeek, kSharedExperts);
constexpr auto kMistral4Layer =
    JoinGgufNames(kGgufDecoderLayer, kSharedAndRouter);
constexpr auto kMistral4Experts = JoinGgufNames(kDeepSeek, kStackedExperts);

void DescribeQwen3Moe(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("qwen3_moe");
  maker->DescribeExperts("num_experts");
  maker->Copy("moe_intermediate_size", "expert_feed_forward_length");
  // llama.cpp assumes it, and every published model has it.
  maker->Set("norm_topk_prob", true);
}

// The text part of Qwen3-VL; a text's tokens have one position.
void DescribeQwen3Vl(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("qwen3");
  maker->Consume("rope.dimension_sections");
  maker->Consume("n_deepstack_layers");
}

void DescribeQwen3VlMoe(ConfigMaker* maker) {
  DescribeQwen3Moe(maker);
  maker->Consume("rope.dimension_sections");
  maker->Consume("n_deepstack_layers");
}

void DescribePhiMoe(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("phimoe");
  maker->DescribeExperts("num_local_experts");
  // The file has Phi 3's factor of cosines and sines in place of this one,
  // which every published model has.
  constexpr double kFactor = 1.243163121016122;
  maker->AddToScaling("short_mscale", kFactor);
  maker->AddToScaling("long_mscale", kFactor);
  const bool slides = maker->Number("attention.sliding_window", 0) > 0;
  maker->Set("sliding_window", nullptr);
  if (slides) maker->Copy("sliding_window", "attention.sliding_window");
  maker->Set("lm_head_bias", maker->Has("output.bias"));
}

void DescribeErnieMoe(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("ernie4_5_moe");
  maker->Copy("moe_num_experts", "expert_count");
  maker->Copy("moe_k", "expert_used_count");
  maker->Copy("moe_intermediate_size", "expert_feed_forward_length");
  maker->Copy("moe_num_shared_experts", "expert_shared_count");
  // The shapes of the tensors say it.
  maker->Consume("expert_shared_feed_forward_length");
  maker->Copy("moe_layer_start_index", "leading_dense_block_count");
  maker->Copy("moe_layer_interval", "interleave_moe_layer_step");
  maker->Set("use_bias", maker->Has("blk.0.attn_q.bias"));
}

void DescribeQwen2Moe(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("qwen2_moe");
  maker->DescribeExperts("num_experts");
  maker->Copy("moe_intermediate_size", "expert_feed_forward_length");
  maker->Copy("shared_expert_intermediate_size",
              "expert_shared_feed_forward_length");
  maker->Set("qkv_bias", maker->Has("blk.0.attn_q.bias"));
  // llama.cpp assumes it, and every published model has it.
  maker->Set("norm_topk_prob", false);
}

void DescribeOlmoe(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("olmoe");
  maker->DescribeExperts("num_experts");
  maker->Consume("expert_feed_forward_length");
  maker->Set("norm_topk_prob", false);
}

void DescribeGraniteMoe(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("granitemoeshared");
  maker->DescribeGraniteFactors();
  maker->DescribeExperts("num_local_experts");
  maker->Set("shared_intermediate_size", 0);
  maker->Copy("shared_intermediate_size", "expert_shared_feed_forward_length");
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

void DescribeGlm4Moe(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("glm4_moe", kPartialRotary);
  maker->DescribeGroupedExperts();
  maker->Copy("first_k_dense_replace", "leading_dense_block_count");
  maker->RequireGate(kGgufSigmoid);
  maker->Set("use_qk_norm", maker->Has("blk.0.attn_q_norm.weight"));
}

void DescribeDots1(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("dots1");
  maker->DescribeGroupedExperts();
  // The converter leaves the windows out, which no published model has.
  maker->Set("max_window_layers", 1 << 20);
  maker->Copy("first_k_dense_replace", "leading_dense_block_count");
  // The shapes of the tensors say it.
  maker->Consume("expert_shared_feed_forward_length");
  maker->RequireGate(kGgufSigmoid);
}

void DescribeMiniMaxM2(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("minimax_m2", kPartialRotary);
  maker->DescribeExperts("num_local_experts");
  maker->Copy("intermediate_size", "expert_feed_forward_length");
  maker->RequireGate(kGgufSigmoid);
}

void DescribeHunyuanMoe(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("hunyuan_v1_moe");
  maker->Copy("num_experts", "expert_count");
  maker->Copy("moe_topk", "expert_used_count");
  maker->Copy("moe_intermediate_size", "expert_feed_forward_length");
  maker->Copy("num_shared_expert", "expert_shared_count");
  maker->Consume("expert_shared_feed_forward_length");
}

// Sets what models with latent attention have in common.
void DescribeLatent(ConfigMaker* maker) {
  maker->Copy("rms_norm_eps", "attention.layer_norm_rms_epsilon");
  maker->Copy("rope_theta", "rope.freq_base");
  // The latent's key-value head is one, the model's are as many as queries.
  maker->Copy("num_key_value_heads", "attention.head_count");
  maker->DescribeGroupedExperts();
  maker->Copy("first_k_dense_replace", "leading_dense_block_count");
  maker->Set("q_lora_rank", nullptr);
  maker->Copy("q_lora_rank", "attention.q_lora_rank");
  maker->Copy("kv_lora_rank", "attention.kv_lora_rank");
  const double turned =
      std::clamp(maker->Number("rope.dimension_count", 64), 1.0, 65536.0);
  // Files before 2025 have the model's sizes under the names of the latent's.
  const double key = maker->Number("attention.key_length", 0);
  const double all = maker->Number("attention.key_length_mla", key);
  maker->Set("qk_rope_head_dim", static_cast<int>(turned));
  maker->Set("qk_nope_head_dim",
             static_cast<int>(std::clamp(all - turned, 0.0, 65536.0)));
  maker->Copy("v_head_dim", "attention.value_length");
  maker->Copy("v_head_dim", "attention.value_length_mla");
  maker->Set("attention_bias", maker->Has("blk.0.attn_kv_a_mqa.bias"));
  maker->DescribeRotaryScaling(static_cast<int>(turned));
  // Stored as a tenth, and the same for queries and keys.
  const double mscale =
      maker->Number("rope.scaling.yarn_log_multiplier", 0) * 10;
  if (mscale != 0) {
    maker->AddToScaling("mscale", mscale);
    maker->AddToScaling("mscale_all_dim", mscale);
  }
}

// DeepSeek V2 and V3, Kimi K2 and what else has their latent attention. V3
// corrects the scores by which it chooses experts.
void DescribeDeepSeek(ConfigMaker* maker) {
  const bool corrected = maker->HasInLayers("exp_probs_b.bias");
  const double gate = corrected ? kGgufSigmoid : kGgufSoftmax;
  if (maker->Number("expert_gating_func", gate) != gate) {
    maker->Refuse("expert_gating_func",
                  corrected ? "with exp_probs_b it must be 2 (sigmoid)"
                            : "without exp_probs_b it must be 1 (softmax)");
  }
  maker->DescribeDecoder(corrected ? "deepseek_v3" : "deepseek_v2");
  DescribeLatent(maker);
  if (!corrected) {
    maker->Set("topk_method", maker->Number("expert_group_count", 1) > 1
                                  ? "group_limited_greedy"
                                  : "greedy");
  }
}

void DescribeMistral4(ConfigMaker* maker) {
  maker->RequireGate(kGgufSoftmax);
  maker->DescribeDecoder("mistral4");
  DescribeLatent(maker);
  // llama.cpp assumes it, and the published model has it.
  maker->Set("norm_topk_prob", maker->Flag("expert_weights_norm", true));
  maker->DescribeQueryGrowth();
}

constexpr GgufArchitecture kExpertDecoders[] = {
    {"deepseek2", kGgufLayers, kGgufDecoder, kGgufExpertLayer, kDeepSeekLayer,
     DescribeDeepSeek},
    {"dots1", kGgufLayers, kGgufDecoder, kGgufExpertLayer, kSharedExperts,
     DescribeDots1},
    {"ernie4_5-moe", kGgufLayers, kGgufDecoder, kGgufExpertLayer,
     kErnieMoeLayer, DescribeErnieMoe},
    {"glm4moe", kGgufLayers, kGgufDecoder, kGgufExpertLayer, kGlm4MoeLayer,
     DescribeGlm4Moe},
    {"gpt-oss", kGgufLayers, kGgufDecoder, kGgufExpertLayer, kGptOssLayer,
     DescribeGptOss},
    {"granitemoe", kGgufLayers, kGgufDecoder, kGgufDecoderLayer,
     kGraniteMoeLayer, DescribeGraniteMoe},
    {"hunyuan-moe", kGgufLayers, kGgufDecoder, kGgufExpertLayer,
     kHunyuanMoeLayer, DescribeHunyuanMoe},
    {"minimax-m2", kGgufLayers, kGgufDecoder, kGgufDecoderLayer,
     kMiniMaxM2Layer, DescribeMiniMaxM2},
    {"mistral4", kGgufLayers, kGgufDecoder, kMistral4Layer, kMistral4Experts,
     DescribeMistral4},
    {"olmoe", kGgufLayers, kGgufDecoder, kGgufExpertLayer, {}, DescribeOlmoe},
    {"phimoe", kGgufLayers, kGgufDecoder, kGgufDecoderLayer, kMixtralExperts,
     DescribePhiMoe},
    {"qwen2moe", kGgufLayers, kGgufDecoder, kGgufExpertLayer, kQwen2MoeLayer,
     DescribeQwen2Moe},
    {"qwen3vl",
     kGgufLayers,
     kGgufDecoder,
     kGgufDecoderLayer,
     {},
     DescribeQwen3Vl},
    {"qwen3vlmoe",
     kGgufLayers,
     kGgufDecoder,
     kGgufExpertLayer,
     {},
     DescribeQwen3VlMoe},
    {"qwen3moe",
     kGgufLayers,
     kGgufDecoder,
     kGgufExpertLayer,
     {},
     DescribeQwen3Moe},
};

}  // namespace

std::span<const GgufArchitecture> GgufExpertDecoders() {
  return kExpertDecoders;
}

}  // namespace trivium
