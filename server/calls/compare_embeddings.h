#ifndef TRIVIUM_SERVER_CALLS_COMPARE_EMBEDDINGS_H_
#define TRIVIUM_SERVER_CALLS_COMPARE_EMBEDDINGS_H_

#include <utility>

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

// The embeddings of a text that is compared with many, whose rows are prepared
// once for all of them.
struct QueryEmbeddings {
  explicit QueryEmbeddings(TextEmbeddings made)
      : embeddings(std::move(made)), rows(MaxSimQueryOf(embeddings.rows)) {}

  TextEmbeddings embeddings;
  MaxSimQuery rows;
};

// Returns, of those that count, the similarity s of the dense embeddings, the
// product of the sparse ones, MaxSim, and as the score
//
//   (w_dense s + w_sparse a_s . b_s + w_multi MaxSim(a, b)) /
//   (w_dense + w_sparse + w_multi)
absl::StatusOr<EmbeddingProducts> CompareEmbeddings(
    const EmbeddingComparison& comparison, const QueryEmbeddings& query,
    const TextEmbeddings& document);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_COMPARE_EMBEDDINGS_H_
