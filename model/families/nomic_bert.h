#ifndef TRIVIUM_MODEL_FAMILIES_NOMIC_BERT_H_
#define TRIVIUM_MODEL_FAMILIES_NOMIC_BERT_H_

#include "model/families/registry.h"

namespace trivium {

// Nomic BERT (Nussbaum et al. 2024): BERT with rotary positions and a gated
// feed-forward, without biases of products. In version 2 (Nussbaum and
// Duderstadt 2025) the feed-forward has no gate, and every second layer is a
// mixture of experts. Reads the keys of Transformers
// (models/nomic_bert/modeling_nomic_bert.py) and those of the model's own code,
// which are GPT-2's (n_embd).
FamilyModel LoadNomicBert(const nlohmann::json& config, const Weights* weights,
                          Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_NOMIC_BERT_H_
