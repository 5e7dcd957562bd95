#ifndef TRIVIUM_MODEL_FAMILIES_JINA_BERT_H_
#define TRIVIUM_MODEL_FAMILIES_JINA_BERT_H_

#include "model/families/registry.h"

namespace trivium {

// Jina's BERT (Guenther et al. 2023; jina-embeddings-v2, whose model_type is
// "bert" and whose code is jinaai/jina-bert-implementation): BERT with ALiBi in
// both directions instead of positions, and gated feed-forwards. The variant of
// jinaai/jina-bert-v2-qk-post-norm (jina-embeddings-v2-base-code) normalizes
// queries and keys, and attention's sum twice.
FamilyModel LoadJinaBert(const nlohmann::json& config, const Weights* weights,
                         Problems* problems);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_JINA_BERT_H_
