#ifndef TRIVIUM_MODEL_GGUF_ARCHITECTURE_NAMES_H_
#define TRIVIUM_MODEL_GGUF_ARCHITECTURE_NAMES_H_

#include <algorithm>
#include <array>
#include <cstddef>

#include "model/gguf/architecture.h"

namespace trivium {

// Names that several architectures share; see GgufArchitecture.
inline constexpr char kGgufLayers[] = "model.layers.{}.";

inline constexpr GgufTensorName kGgufDecoder[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};
inline constexpr GgufTensorName kGgufPlusOneDecoder[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm", GgufChange::kPlusOne},
    {"output", "lm_head"},
    // EmbeddingGemma multiplies pooled vectors by them.
    {"dense_2.weight", "dense_2.weight"},
    {"dense_3.weight", "dense_3.weight"},
};
inline constexpr GgufTensorName kGgufDecoderLayer[] = {
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
// Feed-forwards that are experts.
inline constexpr GgufTensorName kGgufExperts[] = {
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_exps", "mlp.experts.{}.gate_proj", GgufChange::kExperts},
    {"ffn_down_exps", "mlp.experts.{}.down_proj", GgufChange::kExperts},
    {"ffn_up_exps", "mlp.experts.{}.up_proj", GgufChange::kExperts},
};

// Mamba 2's part of a layer that may also attend.
inline constexpr GgufTensorName kGgufMamba[] = {
    {"ssm_a", "mamba.A_log", GgufChange::kDecay},
    {"ssm_d", "mamba.D", GgufChange::kVector},
    {"ssm_dt.bias", "mamba.dt_bias"},
    {"ssm_conv1d.weight", "mamba.conv1d.weight", GgufChange::kConvolution},
    {"ssm_conv1d", "mamba.conv1d"},
    {"ssm_in", "mamba.in_proj"},
    {"ssm_norm", "mamba.norm", GgufChange::kVector},
    {"ssm_out", "mamba.out_proj"},
};

// Returns the names of both lists.
template <size_t A, size_t B>
constexpr std::array<GgufTensorName, A + B> JoinGgufNames(
    const GgufTensorName (&a)[A], const GgufTensorName (&b)[B]) {
  std::array<GgufTensorName, A + B> joined;
  std::copy(a, a + A, joined.begin());
  std::copy(b, b + B, joined.begin() + A);
  return joined;
}
inline constexpr auto kGgufExpertLayer =
    JoinGgufNames(kGgufDecoderLayer, kGgufExperts);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GGUF_ARCHITECTURE_NAMES_H_
