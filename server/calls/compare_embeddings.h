#ifndef TRIVIUM_SERVER_CALLS_COMPARE_EMBEDDINGS_H_
#define TRIVIUM_SERVER_CALLS_COMPARE_EMBEDDINGS_H_

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "model/model.h"
#include "model/similarity.h"
#include "server/calls/convert/embedding_rank.h"
#include "server/calls/convert/encode.h"

namespace trivium {

// The way in which the embeddings of two texts are compared.
struct EmbeddingComparison {
  EmbeddingWeights weights;
  SimilarityFunction dense = SimilarityFunction::kDot;
  bool takes_mean = false;  // MultiVectors::Settings::takes_mean
  AliveCheck check_alive;   // InputOptions'
};

EmbeddingComparison ComparisonOf(const EmbeddingWeights& weights,
                                 const Model& model, AliveCheck check_alive);

// Returns, of those that count, the similarity s of the dense embeddings, the
// product of the sparse ones, MaxSim, and as the score
//
//   (w_dense s + w_sparse a_s . b_s + w_multi MaxSim(a, b)) /
//   (w_dense + w_sparse + w_multi)
//
// `prepared`, if not null, is MaxSimQueryOf() the query's rows.
absl::StatusOr<EmbeddingProducts> CompareEmbeddings(
    const EmbeddingComparison& comparison, const TextEmbeddings& query,
    const TextEmbeddings& document, const MaxSimQuery* prepared = nullptr);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_COMPARE_EMBEDDINGS_H_
