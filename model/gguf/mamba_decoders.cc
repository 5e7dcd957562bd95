// Decoders of Mamba 1, and of Mamba 2 that are not Granite's; see
// architecture.cc.
#include <algorithm>

#include "model/gguf/architecture.h"
#include "model/gguf/architecture_names.h"

namespace trivium {
namespace {

using enum GgufChange;

constexpr char kMambaLayers[] = "backbone.layers.{}.";

constexpr GgufTensorName kMamba[] = {
    {"token_embd", "backbone.embeddings"},
    {"output_norm", "backbone.norm_f"},
    {"output", "lm_head"},
};
constexpr GgufTensorName kMambaLayer[] = {
    {"attn_norm", "norm"},
    {"ssm_a", "mixer.A_log", kDecay},
    {"ssm_d", "mixer.D", kVector},
    {"ssm_dt.bias", "mixer.dt_bias"},
    {"ssm_conv1d.weight", "mixer.conv1d.weight", kConvolution},
    {"ssm_conv1d", "mixer.conv1d"},
    {"ssm_in", "mixer.in_proj"},
    {"ssm_norm", "mixer.norm", kVector},
    {"ssm_out", "mixer.out_proj"},
};
constexpr GgufTensorName kMamba1Layer[] = {
    {"ssm_a", "mixer.A_log", kDecayMatrix},
    {"ssm_dt", "mixer.dt_proj"},
    {"ssm_x", "mixer.x_proj"},
};
// The files are made by LLaMA's converter, which interleaves heads. Without
// rotary positions, the order of a head's rows is of no account.
constexpr GgufTensorName kNemotronHLayer[] = {
    {"attn_q", "mixer.q_proj", kInterleavedQuery},
    {"attn_k", "mixer.k_proj", kInterleavedKey},
    {"attn_v", "mixer.v_proj"},
    {"attn_output", "mixer.o_proj"},
    {"ffn_up", "mixer.up_proj"},
    {"ffn_down", "mixer.down_proj"},
    {"ffn_gate_inp", "mixer.gate"},
    {"exp_probs_b.bias", "mixer.gate.e_score_correction_bias"},
    {"ffn_up_exps", "mixer.experts.{}.up_proj", kExperts},
    {"ffn_down_exps", "mixer.experts.{}.down_proj", kExperts},
    {"ffn_up_shexp", "mixer.shared_experts.up_proj"},
    {"ffn_down_shexp", "mixer.shared_experts.down_proj"},
};
constexpr GgufTensorName kFalconH1[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.final_layernorm"},
    {"output", "lm_head"},
};
constexpr GgufTensorName kFalconH1Others[] = {
    {"ffn_norm.weight", "pre_ff_layernorm.weight"},
    {"ffn_norm", "pre_ff_layernorm.weight", kVector},  // as converters write it
    {"ffn_gate", "feed_forward.gate_proj"},
    {"ffn_up", "feed_forward.up_proj"},
    {"ffn_down", "feed_forward.down_proj"},
};
constexpr auto kFalconH1Layer = JoinGgufNames(kGgufMamba, kFalconH1Others);

// Sets what Mamba 1 and 2 have in common.
void DescribeBothMambas(ConfigMaker* maker, const char* model_type) {
  maker->Set("model_type", model_type);
  maker->Copy("num_hidden_layers", "block_count");
  maker->Copy("hidden_size", "embedding_length");
  maker->Copy("layer_norm_epsilon", "attention.layer_norm_rms_epsilon");
  maker->Copy("state_size", "ssm.state_size");
  maker->Copy("conv_kernel", "ssm.conv_kernel");
  maker->Set("use_bias", maker->HasInLayers("ssm_in.bias"));
  maker->Set("use_conv_bias", maker->HasInLayers("ssm_conv1d.bias"));
  for (const char* key : {"context_length", "feed_forward_length",
                          "attention.head_count", "attention.head_count_kv"}) {
    maker->Consume(key);
  }
}

// Falcon-Mamba has norms, whose epsilon the file does not have: the usual one
// is that of every published model.
void DescribeMamba1(ConfigMaker* maker) {
  DescribeBothMambas(
      maker, maker->Flag("ssm.dt_b_c_rms", false) ? "falcon_mamba" : "mamba");
  maker->Copy("time_step_rank", "ssm.time_step_rank");
  maker->Copy("intermediate_size", "ssm.inner_size");
}

void DescribeMamba2(ConfigMaker* maker) {
  DescribeBothMambas(maker, "mamba2");
  maker->Copy("num_heads", "ssm.time_step_rank");
  maker->Set("head_dim", maker->StateHeadSize());
  maker->Copy("n_groups", "ssm.group_count");
  const double width = std::max(1.0, maker->Number("embedding_length", 1));
  const double expand = maker->Number("ssm.inner_size", 0) / width;
  maker->Set("expand", static_cast<int>(std::clamp(expand, 0.0, 1024.0)));
}

// True for a layer if the value of a list, or the one of all, is above 0.
bool IsPositive(const nlohmann::json* values, size_t layer) {
  if (values == nullptr) return false;
  const nlohmann::json& value =
      values->is_array()
          ? (layer < values->size() ? (*values)[layer] : nlohmann::json(0))
          : *values;
  return value.is_number() && value > 0;
}

// Sets the types of blocks. Blocks of attention have heads of keys,
// feed-forwards have a width.
void DescribeBlocks(ConfigMaker* maker, const char* feed_forward) {
  const nlohmann::json* const heads = maker->Consume("attention.head_count_kv");
  const nlohmann::json* const widths = maker->Consume("feed_forward_length");
  const auto blocks = static_cast<size_t>(
      std::clamp(maker->Number("block_count", 0), 0.0, 1e4));
  nlohmann::json types = nlohmann::json::array();
  nlohmann::json kv_heads = 1u, width;
  for (size_t i = 0; i < blocks; ++i) {
    if (IsPositive(heads, i)) {
      types.push_back("full_attention");
      kv_heads = heads->is_array() ? (*heads)[i] : *heads;
    } else if (IsPositive(widths, i)) {
      types.push_back(feed_forward);
      width = widths->is_array() ? (*widths)[i] : *widths;
    } else {
      types.push_back("linear_attention");
    }
  }
  maker->Set("layers_block_type", std::move(types));
  maker->Set("num_key_value_heads", std::move(kv_heads));
  // Without a dense feed-forward its width is not used.
  maker->Set("intermediate_size", width.is_null() ? nlohmann::json(1u) : width);
}

void DescribeNemotronH(ConfigMaker* maker) {
  const bool experts = maker->HasInLayers("ffn_gate_inp.weight");
  maker->DescribeRotaryDecoder("nemotron_h", kPartialRotary);
  DescribeBlocks(maker, experts ? "moe" : "mlp");
  maker->Copy("layer_norm_epsilon", "attention.layer_norm_rms_epsilon");
  maker->Copy("layer_norm_epsilon", "attention.layer_norm_epsilon");
  maker->Copy("mamba_num_heads", "ssm.time_step_rank");
  maker->Set("mamba_head_dim", maker->StateHeadSize());
  maker->Copy("ssm_state_size", "ssm.state_size");
  maker->Copy("n_groups", "ssm.group_count");
  maker->Copy("conv_kernel", "ssm.conv_kernel");
  maker->Set("use_bias", maker->HasInLayers("ssm_in.bias"));
  maker->Set("use_conv_bias", maker->HasInLayers("ssm_conv1d.bias"));
  if (!experts) {
    for (const char* key : {"expert_count", "expert_used_count",
                            "expert_group_count", "expert_group_used_count"}) {
      maker->Consume(key);
    }
    return;
  }
  maker->DescribeGroupedExperts();
  maker->Copy("moe_shared_expert_intermediate_size",
              "expert_shared_feed_forward_length");
  maker->Copy("moe_latent_size", "moe_latent_size");
  maker->RequireGate(kGgufSigmoid);
}

// The converter puts the factors of Falcon-H1 into its tensors.
void DescribeFalconH1(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("falcon_h1");
  maker->Copy("mamba_d_ssm", "ssm.inner_size");
  maker->Copy("mamba_n_heads", "ssm.time_step_rank");
  maker->Set("mamba_d_head", maker->StateHeadSize());
  maker->Copy("mamba_d_state", "ssm.state_size");
  maker->Copy("mamba_n_groups", "ssm.group_count");
  maker->Copy("mamba_d_conv", "ssm.conv_kernel");
  maker->Set("mamba_proj_bias", maker->HasInLayers("ssm_in.bias"));
  maker->Set("projectors_bias", maker->HasInLayers("ssm_out.bias"));
  maker->Set("mamba_conv_bias", maker->HasInLayers("ssm_conv1d.bias"));
  maker->Set("mamba_rms_norm", maker->HasInLayers("ssm_norm.weight"));
  maker->Set("mamba_norm_before_gate", false);
  if (maker->Has("output.weight")) return;
  maker->problems()->push_back(
      "weights: output.weight is missing, and with it its factor; use the "
      "model's Hugging Face folder");
}

constexpr GgufArchitecture kMambaDecoders[] = {
    {"falcon-h1", kGgufLayers, kFalconH1, kGgufDecoderLayer, kFalconH1Layer,
     DescribeFalconH1},
    {"mamba", kMambaLayers, kMamba, kMambaLayer, kMamba1Layer, DescribeMamba1},
    {"mamba2", kMambaLayers, kMamba, kMambaLayer, {}, DescribeMamba2},
    {"nemotron_h", kMambaLayers, kMamba, kMambaLayer, kNemotronHLayer,
     DescribeNemotronH},
    {"nemotron_h_moe", kMambaLayers, kMamba, kMambaLayer, kNemotronHLayer,
     DescribeNemotronH},
};

}  // namespace

std::span<const GgufArchitecture> GgufMambaDecoders() { return kMambaDecoders; }

}  // namespace trivium
