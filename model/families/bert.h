#ifndef TRIVIUM_MODEL_FAMILIES_BERT_H_
#define TRIVIUM_MODEL_FAMILIES_BERT_H_

#include "model/families/registry.h"

namespace trivium {

// BERT (Devlin et al. 2018): an encoder of words, positions and segments, with
// a pooler. Like Transformers' models/bert/modeling_bert.py.
FamilyModel LoadBert(const nlohmann::json& config, const Weights* weights,
                     Problems* problems);

// DPR (Karpukhin et al. 2020): a BERT for questions or for passages, whose
// embedding is the first token's state. Readers and projections are refused.
// Like models/dpr/modeling_dpr.py.
FamilyModel LoadDpr(const nlohmann::json& config, const Weights* weights,
                    Problems* problems);

// RoBERTa (Liu et al. 2019) and its multilingual and French relatives,
// XLM-RoBERTa and CamemBERT: BERT with positions that count from the padding id
// and without segments. Like models/roberta/modeling_roberta.py.
FamilyModel LoadRoberta(const nlohmann::json& config, const Weights* weights,
                        Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_BERT_H_
