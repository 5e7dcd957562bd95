#ifndef TRIVIUM_MODEL_FAMILIES_BERT_H_
#define TRIVIUM_MODEL_FAMILIES_BERT_H_

#include "model/families/registry.h"

namespace trivium {

// BERT (Devlin et al. 2018): an encoder of words, positions and segments, with
// a pooler. Like Transformers' models/bert/modeling_bert.py.
FamilyModel LoadBert(const nlohmann::json& config, const Weights* weights,
                     Problems* problems);

// ERNIE 1 to 3 (Sun et al. 2019), the encoders: BERT whose tokens may have a
// task, always 0 here. Like models/ernie/modeling_ernie.py.
FamilyModel LoadErnie(const nlohmann::json& config, const Weights* weights,
                      Problems* problems);

// DPR (Karpukhin et al. 2020): a BERT for questions or for passages, whose
// embedding is the first token's state. Readers and projections are refused.
// Like models/dpr/modeling_dpr.py.
FamilyModel LoadDpr(const nlohmann::json& config, const Weights* weights,
                    Problems* problems);

// RoBERTa (Liu et al. 2019) and its relatives XLM-RoBERTa, CamemBERT and
// data2vec's text encoder: BERT with positions that count from the padding id
// and without segments. Like models/roberta/modeling_roberta.py.
FamilyModel LoadRoberta(const nlohmann::json& config, const Weights* weights,
                        Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_BERT_H_
