// Encoders; see architecture.cc.
#include <algorithm>
#include <utility>

#include "model/gguf/architecture.h"
#include "model/gguf/architecture_names.h"

namespace trivium {
namespace {

constexpr GgufTensorName kBert[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"position_embd", "embeddings.position_embeddings",
     GgufChange::kRobertaPositions},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"cls", "classifier.dense"},
    {"cls.output", "classifier.out_proj"},
};
constexpr GgufTensorName kBertLayer[] = {
    {"attn_q", "attention.self.query"},
    {"attn_k", "attention.self.key"},
    {"attn_v", "attention.self.value"},
    {"attn_output", "attention.output.dense"},
    {"attn_output_norm", "attention.output.LayerNorm"},
    {"ffn_up", "intermediate.dense"},
    {"ffn_down", "output.dense"},
    {"layer_output_norm", "output.LayerNorm"},
};
constexpr GgufTensorName kNomic[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "emb_ln"},
};
constexpr GgufTensorName kNomicLayer[] = {
    {"attn_qkv", "attn.Wqkv"},      {"attn_output", "attn.out_proj"},
    {"attn_output_norm", "norm1"},  {"ffn_up", "mlp.fc11"},
    {"ffn_gate", "mlp.fc12"},       {"ffn_down", "mlp.fc2"},
    {"layer_output_norm", "norm2"},
};
// A feed-forward without a gate, or experts without one (nomic-embed-v2).
constexpr GgufTensorName kNomicMoeLayer[] = {
    {"ffn_up", "mlp.fc1"},
    {"ffn_gate_inp", "mlp.router.layer"},
    {"ffn_up_exps.weight", "mlp.experts.mlp.w1", GgufChange::kHeadRows, 0},
    {"ffn_down_exps.weight", "mlp.experts.mlp.w2", GgufChange::kHeadColumns, 0},
};
constexpr GgufTensorName kJinaBertLayer[] = {
    {"attn_q_norm", "attention.self.layer_norm_q"},
    {"attn_k_norm", "attention.self.layer_norm_k"},
    {"attn_norm_2", "layer_norm_1"},
    {"ffn_up", "mlp.gated_layers"},
    {"ffn_down", "mlp.wo"},
    {"layer_output_norm", "mlp.layernorm"},
};
constexpr GgufTensorName kFlash[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"token_embd_norm", "emb_ln"},
};
constexpr GgufTensorName kFlashLayer[] = {
    {"attn_qkv", "mixer.Wqkv"},    {"attn_output", "mixer.out_proj"},
    {"attn_output_norm", "norm1"}, {"ffn_up", "mlp.fc1"},
    {"ffn_down", "mlp.fc2"},       {"layer_output_norm", "norm2"},
};
constexpr GgufTensorName kT5[] = {
    {"token_embd", "shared"},
    {"output", "lm_head"},
    {"enc.output_norm", "encoder.final_layer_norm"},
    {"dec.output_norm", "decoder.final_layer_norm"},
};
constexpr GgufTensorName kT5Layer[] = {
    {"enc.attn_norm", "0.layer_norm"},
    {"enc.attn_q", "0.SelfAttention.q"},
    {"enc.attn_k", "0.SelfAttention.k"},
    {"enc.attn_v", "0.SelfAttention.v"},
    {"enc.attn_o", "0.SelfAttention.o"},
    {"enc.attn_rel_b", "0.SelfAttention.relative_attention_bias"},
    {"enc.ffn_norm", "1.layer_norm"},
    {"enc.ffn_gate", "1.DenseReluDense.wi_0"},
    {"enc.ffn_up", "1.DenseReluDense.wi_1"},
    {"enc.ffn_down", "1.DenseReluDense.wo"},
    {"dec.attn_norm", "0.layer_norm"},
    {"dec.attn_q", "0.SelfAttention.q"},
    {"dec.attn_k", "0.SelfAttention.k"},
    {"dec.attn_v", "0.SelfAttention.v"},
    {"dec.attn_o", "0.SelfAttention.o"},
    {"dec.attn_rel_b", "0.SelfAttention.relative_attention_bias"},
    {"dec.cross_attn_norm", "1.layer_norm"},
    {"dec.cross_attn_q", "1.EncDecAttention.q"},
    {"dec.cross_attn_k", "1.EncDecAttention.k"},
    {"dec.cross_attn_v", "1.EncDecAttention.v"},
    {"dec.cross_attn_o", "1.EncDecAttention.o"},
    {"dec.cross_attn_rel_b", "1.EncDecAttention.relative_attention_bias"},
    {"dec.ffn_norm", "2.layer_norm"},
    {"dec.ffn_gate", "2.DenseReluDense.wi_0"},
    {"dec.ffn_up", "2.DenseReluDense.wi_1"},
    {"dec.ffn_down", "2.DenseReluDense.wo"},
};
constexpr GgufTensorName kModernBert[] = {
    {"token_embd", "model.embeddings.tok_embeddings"},
    {"token_embd_norm", "model.embeddings.norm"},
    {"output_norm", "model.final_norm"},
    {"cls", "head.dense"},
    {"cls.norm", "head.norm"},
    {"cls.output", "classifier"},
};
constexpr GgufTensorName kModernBertLayer[] = {
    {"attn_norm", "attn_norm"}, {"attn_qkv", "attn.Wqkv"},
    {"attn_output", "attn.Wo"}, {"ffn_norm", "mlp_norm"},
    {"ffn_up", "mlp.Wi"},       {"ffn_down", "mlp.Wo"},
};

void DescribeEncoder(ConfigMaker* maker, const char* model_type) {
  maker->DescribeDecoder(model_type);
  maker->Copy("layer_norm_eps", "attention.layer_norm_epsilon");
  maker->Consume("attention.causal");
  // Heads share the width evenly.
  const double even = maker->Number("embedding_length", 0) /
                      std::max(1.0, maker->Number("attention.head_count", 1));
  for (const char* key : {"attention.key_length", "attention.value_length"}) {
    if (maker->Number(key, even) != even) {
      maker->Refuse(key, "it must be embedding_length / head_count");
    }
  }
  maker->Set("type_vocab_size", maker->Rows("token_types.weight"));
}

// BERT, RoBERTa, XLM-R, DistilBERT and their like. The converter leaves out
// what follows the encoder, but for the head of RoBERTa's rerankers.
void DescribeBert(ConfigMaker* maker) {
  const bool head = maker->Has("cls.weight");
  DescribeEncoder(maker, head ? "roberta" : "bert");
  if (head && !maker->Has("token_types.weight")) {
    maker->problems()->push_back(
        "weights: tensor cls.weight is of DistilBERT's head, whose activation "
        "the file does not have; use the model's Hugging Face folder");
  } else if (head) {
    maker->DescribeClassifier("RobertaForSequenceClassification", "cls.output");
    maker->DescribeRobertaPositions();
  } else if (maker->Has("cls.output.weight")) {
    maker->problems()->push_back(
        "weights: tensor cls.output.weight reads the output of a pooler that "
        "the file does not have; use the model's Hugging Face folder");
  }
}

void DescribeNomicBert(ConfigMaker* maker) {
  DescribeEncoder(maker, "nomic_bert");
  maker->Set("hidden_act", "silu");
  maker->Copy("rope_theta", "rope.freq_base");
}

// The keys of the model's own code, which alone have experts.
void DescribeNomicBertMoe(ConfigMaker* maker) {
  DescribeEncoder(maker, "nomic_bert");
  for (const auto& [key, from] :
       {std::pair("n_embd", "embedding_length"),
        {"n_layer", "block_count"},
        {"n_head", "attention.head_count"},
        {"n_inner", "feed_forward_length"},
        {"n_positions", "context_length"},
        {"layer_norm_epsilon", "attention.layer_norm_epsilon"},
        {"rotary_emb_base", "rope.freq_base"},
        {"num_experts", "expert_count"},
        {"moe_top_k", "expert_used_count"},
        {"moe_every_n_layers", "moe_every_n_layers"}}) {
    maker->Copy(key, from);
  }
  maker->Set("activation_function", "gelu");
  // The converter leaves out the experts' bias.
  maker->Set("experts_bias", false);
}

// Jina's BERT.
void DescribeJinaBert(ConfigMaker* maker) {
  DescribeEncoder(maker, "bert");
  maker->Set("position_embedding_type", "alibi");
  const bool gated = static_cast<double>(maker->Rows("blk.0.ffn_up.weight")) !=
                     maker->Number("feed_forward_length", 0);
  maker->Set("feed_forward_type", gated ? "geglu" : "original");
  if (maker->Has("cls.weight")) {
    maker->problems()->push_back(
        "weights: tensor cls.weight reads the output of a pooler that the file "
        "does not have; use the model's Hugging Face folder");
  }
}

// Jina's XLM-RoBERTa; adapters of tasks are files of their own.
void DescribeFlash(ConfigMaker* maker) {
  DescribeEncoder(maker, "jina_embeddings_v3");
  maker->Set("rope_theta", 10000.0);
  maker->Copy("rope_theta", "rope.freq_base");
  maker->RequireNoScaling();
}

void DescribeT5(ConfigMaker* maker, const char* architecture) {
  maker->Set("model_type", "t5");
  maker->Set("architectures", nlohmann::json::array({architecture}));
  maker->Consume("context_length");  // distances have no end
  maker->Copy("num_layers", "block_count");
  maker->Copy("num_decoder_layers", "decoder_block_count");
  maker->Copy("d_model", "embedding_length");
  maker->Copy("d_ff", "feed_forward_length");
  maker->Copy("num_heads", "attention.head_count");
  maker->Copy("d_kv", "attention.key_length");
  if (maker->Number("attention.value_length", 0) !=
      maker->Number("attention.key_length", 0)) {
    maker->Refuse("attention.value_length", "values must be as wide as keys");
  }
  maker->Copy("layer_norm_epsilon", "attention.layer_norm_epsilon");
  maker->Copy("layer_norm_epsilon", "attention.layer_norm_rms_epsilon");
  maker->Copy("relative_attention_num_buckets",
              "attention.relative_buckets_count");
  maker->Copy("decoder_start_token_id", "decoder_start_token_id");
  maker->Set("feed_forward_proj",
             maker->HasInLayers("ffn_gate.weight") ? "gated-gelu" : "relu");
  // Files of Flan-T5 and T5 1.1 have an output of their own.
  maker->Set("scale_decoder_outputs", !maker->Has("output.weight"));
}

void DescribeT5Encoder(ConfigMaker* maker) {
  DescribeT5(maker, "T5EncoderModel");
}
void DescribeT5Both(ConfigMaker* maker) {
  DescribeT5(maker, "T5ForConditionalGeneration");
}

void DescribeModernBert(ConfigMaker* maker) {
  DescribeEncoder(maker, "modernbert");
  maker->Copy("norm_eps", "attention.layer_norm_rms_epsilon");
  maker->Copy("norm_eps", "attention.layer_norm_epsilon");
  maker->Copy("global_rope_theta", "rope.freq_base");
  maker->Copy("local_rope_theta", "rope.freq_base_swa");
  maker->Copy("local_attention", "attention.sliding_window");
  maker->Copy("global_attn_every_n_layers", "attention.sliding_window_pattern");
  maker->Copy("hidden_activation", "hidden_activation");
  maker->Set("norm_bias", maker->Has("output_norm.bias"));
  maker->Set("classifier_bias", maker->Has("cls.bias"));
  maker->RequireNoScaling();
  constexpr int kMean = 1;
  if (maker->Number("classifier.pooling_type", 0) == kMean) {
    maker->Set("classifier_pooling", "mean");
  }
  if (maker->Has("cls.output.weight")) {
    maker->DescribeClassifier("ModernBertForSequenceClassification",
                              "cls.output");
  }
}

void DescribeEuroBert(ConfigMaker* maker) {
  maker->DescribeRotaryDecoder("eurobert");
  maker->Consume("attention.causal");
}

constexpr GgufArchitecture kEncoders[] = {
    {"bert", "encoder.layer.{}.", kBert, {}, kBertLayer, DescribeBert},
    {"eurobert",
     kGgufLayers,
     kGgufDecoder,
     kGgufDecoderLayer,
     {},
     DescribeEuroBert},
    {"jina-bert-v2", "encoder.layer.{}.", kBert, kBertLayer, kJinaBertLayer,
     DescribeJinaBert},
    {"jina-bert-v3",
     "encoder.layers.{}.",
     kFlash,
     kFlashLayer,
     {},
     DescribeFlash},
    {"modern-bert",
     kGgufLayers,
     kModernBert,
     {},
     kModernBertLayer,
     DescribeModernBert},
    {"nomic-bert",
     "encoder.layers.{}.",
     kNomic,
     {},
     kNomicLayer,
     DescribeNomicBert},
    {"nomic-bert-moe", "encoder.layers.{}.", kNomic, kNomicLayer,
     kNomicMoeLayer, DescribeNomicBertMoe},
    {"t5", "block.{}.layer.", kT5, kT5Layer, {}, DescribeT5Both},
    {"t5encoder", "block.{}.layer.", kT5, kT5Layer, {}, DescribeT5Encoder},
};

}  // namespace

std::span<const GgufArchitecture> GgufEncoders() { return kEncoders; }

}  // namespace trivium
