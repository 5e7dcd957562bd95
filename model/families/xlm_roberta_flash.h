#ifndef TRIVIUM_MODEL_FAMILIES_XLM_ROBERTA_FLASH_H_
#define TRIVIUM_MODEL_FAMILIES_XLM_ROBERTA_FLASH_H_

#include "model/families/registry.h"

namespace trivium {

// Jina's XLM-RoBERTa (Sturua et al. 2024), of jina-embeddings-v3,
// jina-colbert-v2 and jina-reranker-v2: with rotary positions or RoBERTa's, and
// joined projections. It may have low-rank adapters of several tasks, of which
// the one that config.json's `lora_task` names is added to the weights; without
// it, none is. Read with the keys and names of its own code
// (jinaai/xlm-roberta-flash-implementation, model_type "xlm-roberta") or of
// Transformers' models/jina_embeddings_v3/modeling_jina_embeddings_v3.py.
FamilyModel LoadXlmRobertaFlash(const nlohmann::json& config,
                                const Weights* weights, Problems* problems);

// True for a folder of model_type "xlm-roberta" that is of this family.
bool IsXlmRobertaFlash(const nlohmann::json& config, const Weights* weights);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_XLM_ROBERTA_FLASH_H_
