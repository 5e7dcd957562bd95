#include "server/calls/embedding_ranker.h"

#include "base/status.h"
#include "model/similarity.h"

namespace trivium {

absl::StatusOr<EmbeddingRanker> EmbeddingRanker::Create(
    const Environment& environment, const ServedModel& model,
    const v1::RerankRequest& request, const AliveCheck& check_alive) {
  TRIVIUM_ASSIGN_OR_RETURN(const EmbeddingWeights weights,
                           ReadEmbeddingWeights(request, model));
  const auto work = [&](TextKind kind) {
    return EncodeWork::Create(environment, model,
                              ToEncodeRequest(request, weights, kind), "",
                              check_alive);
  };
  TRIVIUM_ASSIGN_OR_RETURN(EncodeWork query, work(TextKind::kQuery));
  TRIVIUM_ASSIGN_OR_RETURN(EncodeWork document, work(TextKind::kDocument));
  const MultiVectors* const multi =
      model.model->sentence_encoder().multi_vectors();
  return EmbeddingRanker(weights,
                         multi != nullptr && multi->settings().takes_mean,
                         std::move(query), std::move(document));
}

absl::Status EmbeddingRanker::SetQuery(const PreparedInput& query,
                                       RequestResult result) {
  TRIVIUM_ASSIGN_OR_RETURN(query_, query_work_.Embed(query, &result));
  return absl::OkStatus();
}

absl::StatusOr<EmbeddingProducts> EmbeddingRanker::Compare(
    const PreparedInput& document, RequestResult result) const {
  TRIVIUM_ASSIGN_OR_RETURN(const TextEmbeddings made,
                           document_work_.Embed(document, &result));
  EmbeddingProducts products;
  double sum = 0, weights = 0;
  const auto add = [&](double weight, double product) {
    sum += weight * product;
    weights += weight;
    return static_cast<float>(product);
  };
  if (weights_.dense > 0) {
    products.dense =
        add(weights_.dense, DenseProduct(query_.dense, made.dense));
  }
  if (weights_.sparse > 0) {
    products.sparse =
        add(weights_.sparse, SparseProduct(query_.sparse, made.sparse));
  }
  if (weights_.multi_vector > 0) {
    double product = MaxSim(query_.rows, made.rows);
    if (takes_mean_ && query_.rows.rows() > 0) product /= query_.rows.rows();
    products.multi_vector = add(weights_.multi_vector, product);
  }
  products.score = static_cast<float>(sum / weights);
  return products;
}

}  // namespace trivium
