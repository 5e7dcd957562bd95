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
    const EmbeddingComparison& comparison, const TextEmbeddings& query,
    const TextEmbeddings& document, const MaxSimQuery* prepared) {
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
    products.dense =
        add(weights.dense,
            DenseSimilarity(comparison.dense, query.dense, document.dense));
  }
  if (weights.sparse > 0) {
    products.sparse =
        add(weights.sparse, SparseProduct(query.sparse, document.sparse));
  }
  if (weights.multi_vector > 0) {
    double product = prepared != nullptr ? MaxSim(*prepared, document.rows)
                                         : MaxSim(query.rows, document.rows);
    if (comparison.takes_mean && query.rows.rows() > 0) {
      product /= query.rows.rows();
    }
    products.multi_vector = add(weights.multi_vector, product);
  }
  products.score = static_cast<float>(sum / total);
  return products;
}

}  // namespace trivium
