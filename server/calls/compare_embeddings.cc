#include "server/calls/compare_embeddings.h"

#include <utility>

#include "base/status.h"

namespace trivium {

EmbeddingComparison ComparisonOf(const EmbeddingWeights& weights,
                                 const Model& model, AliveCheck check_alive) {
  const MultiVectors* const multi = model.sentence_encoder().multi_vectors();
  return {.weights = weights,
          .takes_mean = multi != nullptr && multi->settings().takes_mean,
          .check_alive = std::move(check_alive)};
}

absl::StatusOr<EmbeddingProducts> CompareEmbeddings(
    const EmbeddingComparison& comparison, const QueryEmbeddings& query,
    const TextEmbeddings& document) {
  TRIVIUM_RETURN_IF_ERROR(comparison.check_alive());
  const EmbeddingWeights& weights = comparison.weights;
  EmbeddingProducts products;
  double sum = 0, total = 0;
  const auto add = [&](double weight, double product) {
    sum += weight * product;
    total += weight;
    return static_cast<float>(product);
  };
  if (weights.dense > 0) {
    products.dense = add(
        weights.dense, DenseSimilarity(comparison.dense, query.embeddings.dense,
                                       document.dense));
  }
  if (weights.sparse > 0) {
    products.sparse = add(weights.sparse, SparseProduct(query.embeddings.sparse,
                                                        document.sparse));
  }
  if (weights.multi_vector > 0) {
    double product = MaxSim(query.rows, document.rows);
    if (comparison.takes_mean && query.rows.count() > 0) {
      product /= query.rows.count();
    }
    products.multi_vector = add(weights.multi_vector, product);
  }
  products.score = static_cast<float>(sum / total);
  return products;
}

}  // namespace trivium
