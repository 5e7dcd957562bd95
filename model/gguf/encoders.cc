// Encoders; see architecture.cc.
#include <algorithm>

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
  if (head) {
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

void DescribeModernBert(ConfigMaker* maker) {
  DescribeEncoder(maker, "modernbert");
  maker->Copy("norm_eps", "attention.layer_norm_rms_epsilon");
  maker->Copy("norm_eps", "attention.layer_norm_epsilon");
  maker->Copy("global_rope_theta", "rope.freq_base");
  maker->Copy("local_rope_theta", "rope.freq_base_swa");
  maker->Copy("local_attention", "attention.sliding_window");
  maker->Copy("global_attn_every_n_layers", "attention.sliding_window_pattern");
  maker->Copy("hidden_activation", "hidden_activation");
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
};

}  // namespace

std::span<const GgufArchitecture> GgufEncoders() { return kEncoders; }

}  // namespace trivium
