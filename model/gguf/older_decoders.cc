// Decoders of 2019 to 2023 with names and layouts of their own; see
// architecture.cc.
#include "model/gguf/architecture.h"
#include "model/gguf/architecture_names.h"

namespace trivium {
namespace {

using enum GgufChange;

constexpr GgufTensorName kGpt2[] = {
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
};

constexpr GgufTensorName kGptNeoX[] = {
    {"token_embd", "gpt_neox.embed_in"},
    {"output_norm", "gpt_neox.final_layer_norm"},
    {"output", "embed_out"},
};
constexpr GgufTensorName kGptNeoXLayer[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_qkv", "attention.query_key_value", kGroupedRows},
    {"attn_output", "attention.dense"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_up", "mlp.dense_h_to_4h"},
    {"ffn_down", "mlp.dense_4h_to_h"},
};
constexpr GgufTensorName kBloom[] = {
    {"token_embd", "transformer.word_embeddings"},
    {"token_embd_norm", "transformer.word_embeddings_layernorm"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
};
constexpr GgufTensorName kBloomLayer[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_qkv", "self_attention.query_key_value", kGroupedRows},
    {"attn_output", "self_attention.dense"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_up", "mlp.dense_h_to_4h"},
    {"ffn_down", "mlp.dense_4h_to_h"},
};
constexpr GgufTensorName kGpt2Layer[] = {
    {"attn_norm", "ln_1"},
    {"attn_qkv", "attn.c_attn", kTransposed},
    {"attn_output", "attn.c_proj", kTransposed},
    {"ffn_norm", "ln_2"},
    {"ffn_up", "mlp.c_fc", kTransposed},
    {"ffn_down", "mlp.c_proj", kTransposed},
};

constexpr GgufTensorName kFalcon[] = {
    {"token_embd", "transformer.word_embeddings"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
};
constexpr GgufTensorName kFalconLayer[] = {
    {.gguf = "attn_norm", .folder = "ln_mlp", .only_with = kGgufTwoNorms},
    {"attn_norm", "input_layernorm"},
    {"attn_norm_2", "ln_attn"},
    {"attn_qkv", "self_attention.query_key_value", kGroupedRows},
    {"attn_output", "self_attention.dense"},
    {"ffn_up", "mlp.dense_h_to_4h"},
    {"ffn_down", "mlp.dense_4h_to_h"},
};
constexpr GgufTensorName kMpt[] = {
    {"token_embd", "transformer.wte"},
    {"output_norm", "transformer.norm_f"},
    {"output", "lm_head"},
};
constexpr GgufTensorName kMptLayer[] = {
    {"attn_norm", "norm_1"},          {"attn_qkv", "attn.Wqkv"},
    {"attn_output", "attn.out_proj"}, {"ffn_norm", "norm_2"},
    {"ffn_up", "ffn.up_proj"},        {"ffn_down", "ffn.down_proj"},
};
constexpr GgufTensorName kStarcoderLayer[] = {
    {"attn_norm", "ln_1"},          {"attn_qkv", "attn.c_attn"},
    {"attn_output", "attn.c_proj"}, {"ffn_norm", "ln_2"},
    {"ffn_up", "mlp.c_fc"},         {"ffn_down", "mlp.c_proj"},
};

void DescribeGptNeoX(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("gpt_neox", kPartialRotary);
  maker->Copy("layer_norm_eps", "attention.layer_norm_epsilon");
  maker->Copy("use_parallel_residual", "use_parallel_residual");
  maker->Set("attention_bias", maker->Has("blk.0.attn_qkv.bias"));
}

void DescribeBloom(ConfigMaker* maker) {
  maker->Set("model_type", "bloom");
  // Without a length of its own, the converter writes the width. This family's
  // positions have no end.
  if (maker->Number("context_length", 0) !=
      maker->Number("embedding_length", 0)) {
    maker->Copy("seq_length", "context_length");
  }
  maker->Copy("n_layer", "block_count");
  maker->Copy("hidden_size", "embedding_length");
  maker->Copy("n_head", "attention.head_count");
  maker->Copy("layer_norm_epsilon", "attention.layer_norm_epsilon");
  maker->Consume("attention.head_count_kv");
  maker->Consume("feed_forward_length");
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

void DescribeFalcon(ConfigMaker* maker) {
  maker->DescribeDecoder("falcon");
  maker->Copy("layer_norm_epsilon", "attention.layer_norm_epsilon");
  maker->Copy("ffn_hidden_size", "feed_forward_length");
  maker->Copy("rope_theta", "rope.freq_base");
  maker->RequireNoScaling();
  // The converter writes 1 for the first models, whose heads share their keys.
  const double heads = maker->Number("attention.head_count", 0);
  const double kv_heads = maker->Number("attention.head_count_kv", heads);
  const bool two = maker->HasInLayers("attn_norm_2.weight");
  maker->Set("multi_query", kv_heads == 1);
  maker->Set("new_decoder_architecture",
             two || (kv_heads > 1 && kv_heads < heads));
  maker->Copy("num_kv_heads", "attention.head_count_kv");
  maker->Set("num_ln_in_parallel_attn", two ? 2 : 1);
  maker->Set(kGgufTwoNorms, two);
  maker->Set("bias", maker->HasInLayers("attn_qkv.bias"));
}

void DescribeMpt(ConfigMaker* maker) {
  maker->Set("model_type", "mpt");
  maker->Copy("max_seq_len", "context_length");
  maker->Copy("n_layers", "block_count");
  maker->Copy("d_model", "embedding_length");
  maker->Copy("n_heads", "attention.head_count");
  maker->Copy("layer_norm_epsilon", "attention.layer_norm_epsilon");
  maker->Consume("feed_forward_length");
  const double bias = maker->Number("attention.max_alibi_bias", 0);
  nlohmann::json attention = {{"alibi", bias > 0}, {"alibi_bias_max", bias}};
  for (const auto& [name, key] : {std::pair("clip_qkv", "attention.clamp_kqv"),
                                  {"kv_n_heads", "attention.head_count_kv"}}) {
    if (const auto* value = maker->Consume(key)) attention[name] = *value;
  }
  maker->Set("attn_config", std::move(attention));
}

// The first StarCoder and SantaCoder.
void DescribeStarcoder(ConfigMaker* maker) {
  DescribeGpt2(maker);
  maker->Set("model_type", "gpt_bigcode");
  const double heads = maker->Number("attention.head_count", 0);
  maker->Set("multi_query",
             maker->Number("attention.head_count_kv", heads) == 1);
}

constexpr GgufArchitecture kOlderDecoders[] = {
    {"bloom", "transformer.h.{}.", kBloom, {}, kBloomLayer, DescribeBloom},
    {"gpt2", "transformer.h.{}.", kGpt2, {}, kGpt2Layer, DescribeGpt2},
    {"gptneox",
     "gpt_neox.layers.{}.",
     kGptNeoX,
     {},
     kGptNeoXLayer,
     DescribeGptNeoX},
    {"falcon", "transformer.h.{}.", kFalcon, {}, kFalconLayer, DescribeFalcon},
    {"mpt", "transformer.blocks.{}.", kMpt, {}, kMptLayer, DescribeMpt},
    {"starcoder",
     "transformer.h.{}.",
     kGpt2,
     {},
     kStarcoderLayer,
     DescribeStarcoder},
};

}  // namespace

std::span<const GgufArchitecture> GgufOlderDecoders() { return kOlderDecoders; }

}  // namespace trivium
