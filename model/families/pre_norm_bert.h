#ifndef TRIVIUM_MODEL_FAMILIES_PRE_NORM_BERT_H_
#define TRIVIUM_MODEL_FAMILIES_PRE_NORM_BERT_H_

#include "model/families/registry.h"

namespace trivium {

// Relatives of BERT and RoBERTa with norms before the sublayers, and one after
// the last layer.

// Megatron's BERT (Shoeybi et al. 2019), without a norm of the embeddings. Like
// Transformers' models/megatron_bert/modeling_megatron_bert.py.
FamilyModel LoadMegatronBert(const nlohmann::json& config,
                             const Weights* weights, Problems* problems);

// XLM-RoBERTa XL and XXL (Goyal et al. 2021), without a norm of the embeddings.
// Like models/xlm_roberta_xl/modeling_xlm_roberta_xl.py.
FamilyModel LoadXlmRobertaXl(const nlohmann::json& config,
                             const Weights* weights, Problems* problems);

// RoBERTa with norms before the sublayers (Wettig et al. 2022). Like
// models/roberta_prelayernorm/modeling_roberta_prelayernorm.py.
FamilyModel LoadRobertaPreLayerNorm(const nlohmann::json& config,
                                    const Weights* weights, Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_PRE_NORM_BERT_H_
