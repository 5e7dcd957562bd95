// Decoders with layers that keep a state; see architecture.cc.
#include <algorithm>
#include <array>
#include <cmath>

#include "model/gguf/architecture.h"
#include "model/gguf/architecture_names.h"

namespace trivium {
namespace {

using Tiled = GgufTensorName::Tiled;

constexpr GgufTensorName kLfm2[] = {
    {"token_embd", "model.embed_tokens"},
    {"token_embd_norm", "model.embedding_norm"},
    {"output_norm", "model.embedding_norm"},
    {"output", "lm_head"},
};
constexpr GgufTensorName kLfm2Layer[] = {
    {"attn_norm", "operator_norm"},
    {"attn_q_norm", "self_attn.q_layernorm"},
    {"attn_k_norm", "self_attn.k_layernorm"},
    {"attn_output", "self_attn.out_proj"},
    {"shortconv.conv", "conv.conv", GgufChange::kConvolution},
    {"shortconv.in_proj", "conv.in_proj"},
    {"shortconv.out_proj", "conv.out_proj"},
    {"ffn_norm", "ffn_norm"},
    {"ffn_gate", "feed_forward.w1"},
    {"ffn_down", "feed_forward.w2"},
    {"ffn_up", "feed_forward.w3"},
};
constexpr GgufTensorName kLfm2Experts[] = {
    {"ffn_gate_inp", "feed_forward.gate"},
    {"exp_probs_b.bias", "feed_forward.expert_bias"},
    {"ffn_gate_exps", "feed_forward.experts.{}.w1", GgufChange::kExperts},
    {"ffn_down_exps", "feed_forward.experts.{}.w2", GgufChange::kExperts},
    {"ffn_up_exps", "feed_forward.experts.{}.w3", GgufChange::kExperts},
};
constexpr auto kLfm2MoeLayer = JoinGgufNames(kLfm2Layer, kLfm2Experts);
constexpr GgufTensorName kGraniteHybridOthers[] = {
    {"attn_q", "self_attn.q_proj", GgufChange::kInterleavedQuery},
    {"attn_k", "self_attn.k_proj", GgufChange::kInterleavedKey},
    {"ffn_gate", "shared_mlp.input_linear", GgufChange::kNone, 0},
    {"ffn_up", "shared_mlp.input_linear", GgufChange::kNone, 1},
    {"ffn_down", "shared_mlp.output_linear"},
    {"ffn_gate_shexp", "shared_mlp.input_linear", GgufChange::kNone, 0},
    {"ffn_up_shexp", "shared_mlp.input_linear", GgufChange::kNone, 1},
    {"ffn_down_shexp", "shared_mlp.output_linear"},
    {"ffn_gate_inp", "block_sparse_moe.router.layer"},
    {"ffn_gate_exps", "block_sparse_moe.input_linear", GgufChange::kNone, 0},
    {"ffn_up_exps", "block_sparse_moe.input_linear", GgufChange::kNone, 1},
    {"ffn_down_exps", "block_sparse_moe.output_linear"},
};
constexpr auto kGraniteHybridLayer =
    JoinGgufNames(kGgufMamba, kGraniteHybridOthers);
// Qwen's layers with the gated delta rule. `rows` and `columns` say in which
// order the file has the heads of values.
constexpr auto DeltaLayer(Tiled rows, Tiled columns) {
  using enum GgufChange;
  return std::to_array<GgufTensorName>({
      {"attn_norm", "input_layernorm", kPlusOne},
      {"attn_q_norm", "self_attn.q_norm", kPlusOne},
      {"attn_k_norm", "self_attn.k_norm", kPlusOne},
      {"post_attention_norm", "post_attention_layernorm", kPlusOne},
      {"attn_qkv", "linear_attn.in_proj_qkv", kNone, -1, rows},
      {"attn_gate", "linear_attn.in_proj_z", kNone, -1, rows},
      {"ssm_a", "linear_attn.A_log", kDecay, -1, rows},
      {"ssm_dt.bias", "linear_attn.dt_bias", kNone, -1, rows},
      {"ssm_conv1d", "linear_attn.conv1d", kConvolution, -1, rows},
      {"ssm_alpha", "linear_attn.in_proj_a", kNone, -1, rows},
      {"ssm_beta", "linear_attn.in_proj_b", kNone, -1, rows},
      {"ssm_ba", "linear_attn.in_proj_ba"},
      {"ssm_norm", "linear_attn.norm"},
      {"ssm_out", "linear_attn.out_proj", kNone, -1, columns},
      {"ffn_gate_inp_shexp", "mlp.shared_expert_gate", kRow},
      {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
      {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
      {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
  });
}
// Qwen3-Next's stand in the folder's order, Qwen3.5's do not.
constexpr auto kQwen3NextLayer = DeltaLayer(Tiled::kNo, Tiled::kNo);
constexpr auto kQwen35Layer = DeltaLayer(Tiled::kRows, Tiled::kColumns);

void DescribeLfm2(ConfigMaker* maker) {
  maker->DescribeAttendingLayers("conv", "full_attention");
  maker->DescribeRotaryDecoder("lfm2");
  maker->Copy("norm_eps", "attention.layer_norm_rms_epsilon");
  maker->Copy("conv_L_cache", "shortconv.l_cache");
  maker->Set("block_auto_adjust_ff_dim", false);
  maker->Set("conv_bias", maker->HasInLayers("shortconv.in_proj.bias"));
}

void DescribeLfm2Moe(ConfigMaker* maker) {
  DescribeLfm2(maker);
  maker->Set("model_type", "lfm2_moe");
  maker->DescribeExperts("num_experts");
  maker->Copy("moe_intermediate_size", "expert_feed_forward_length");
  maker->Copy("num_dense_layers", "leading_dense_block_count");
  maker->Copy("routed_scaling_factor", "expert_weights_scale");
  maker->Set("use_expert_bias", maker->HasInLayers("exp_probs_b.bias"));
  maker->RequireGate(kGgufSigmoid);
}

// Sets the sizes of Mamba 2's layers.
void DescribeMamba(ConfigMaker* maker) {
  maker->Copy("mamba_d_conv", "ssm.conv_kernel");
  maker->Copy("mamba_d_state", "ssm.state_size");
  maker->Copy("mamba_n_groups", "ssm.group_count");
  maker->Copy("mamba_n_heads", "ssm.time_step_rank");
  const double width = std::max(1.0, maker->Number("embedding_length", 1));
  const double expand = maker->Number("ssm.inner_size", 0) / width;
  if (expand != std::floor(expand) || !(expand >= 1 && expand <= 1024)) {
    maker->Refuse("ssm.inner_size",
                  "it must be a multiple of embedding_length");
    return;
  }
  maker->Set("mamba_expand", static_cast<int>(expand));
  maker->Set("mamba_d_head", maker->StateHeadSize());
  maker->Set("mamba_conv_bias", maker->HasInLayers("ssm_conv1d.bias"));
  maker->Set("mamba_proj_bias", maker->HasInLayers("ssm_in.bias"));
}

// Granite 4 and Bamba, which is the same with other factors.
void DescribeGraniteHybrid(ConfigMaker* maker) {
  maker->DescribeAttendingLayers("mamba", "attention");
  maker->DescribeRotaryDecoder("granitemoehybrid");
  maker->DescribeGraniteFactors();
  const nlohmann::json* const turns = maker->Consume("rope.scaling.finetuned");
  const bool rotary = turns == nullptr || *turns == true;
  maker->Set("position_embedding_type", rotary ? "rope" : "nope");
  maker->Copy("shared_intermediate_size", "feed_forward_length");
  maker->Copy("shared_intermediate_size", "expert_shared_feed_forward_length");
  maker->Set("num_local_experts", 0);
  maker->DescribeExperts("num_local_experts");
  DescribeMamba(maker);
}

void DescribeDelta(ConfigMaker* maker, const char* model_type) {
  const nlohmann::json* const recurrent =
      maker->Consume("attention.recurrent_layers");
  maker->DescribeRotaryDecoder(model_type, kPartialRotary);
  maker->Copy("full_attention_interval", "full_attention_interval");
  if (recurrent != nullptr) {
    maker->DescribeLayerTypes(*recurrent, "linear_attention", "full_attention");
  }
  maker->Consume("rope.dimension_sections");
  maker->Copy("linear_conv_kernel_dim", "ssm.conv_kernel");
  maker->Copy("linear_key_head_dim", "ssm.state_size");
  maker->Copy("linear_num_key_heads", "ssm.group_count");
  maker->Copy("linear_num_value_heads", "ssm.time_step_rank");
  maker->Set("linear_value_head_dim", maker->StateHeadSize());
  if (maker->Number("expert_count", 0) == 0) return;
  maker->DescribeExperts("num_experts");
  maker->Copy("moe_intermediate_size", "expert_feed_forward_length");
  maker->Copy("shared_expert_intermediate_size",
              "expert_shared_feed_forward_length");
}

constexpr GgufArchitecture kStateDecoders[] = {
    {"granitehybrid", kGgufLayers, kGgufDecoder, kGgufDecoderLayer,
     kGraniteHybridLayer, DescribeGraniteHybrid},
    {"lfm2", kGgufLayers, kLfm2, kGgufDecoderLayer, kLfm2Layer, DescribeLfm2},
    {"lfm2moe", kGgufLayers, kLfm2, kGgufDecoderLayer, kLfm2MoeLayer,
     DescribeLfm2Moe},
    {"qwen35", kGgufLayers, kGgufPlusOneDecoder, kGgufDecoderLayer,
     kQwen35Layer,
     [](ConfigMaker* maker) { DescribeDelta(maker, "qwen3_5_text"); }},
    {"qwen35moe", kGgufLayers, kGgufPlusOneDecoder, kGgufExpertLayer,
     kQwen35Layer,
     [](ConfigMaker* maker) { DescribeDelta(maker, "qwen3_5_moe_text"); }},
    {"qwen3next", kGgufLayers, kGgufPlusOneDecoder, kGgufExpertLayer,
     kQwen3NextLayer,
     [](ConfigMaker* maker) { DescribeDelta(maker, "qwen3_next"); }},
};

}  // namespace

std::span<const GgufArchitecture> GgufStateDecoders() { return kStateDecoders; }

}  // namespace trivium
