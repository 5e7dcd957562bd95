#include "server/calls/embedding_ranker.h"

#include <fmt/format.h>

#include <cmath>
#include <tuple>
#include <utility>

#include "base/status.h"
#include "model/similarity.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// Returns the weights of a request, or 1 for each embedding of the model.
absl::StatusOr<v1::RerankWeights> ReadWeights(const v1::RerankRequest& request,
                                              const ServedModel& model) {
  const SentenceEncoder& sentences = model.model->sentence_encoder();
  v1::RerankWeights weights = request.weights();
  if (!request.has_weights()) {
    weights.set_dense(sentences.has_dense());
    weights.set_sparse(sentences.has_sparse());
    weights.set_multi_vector(sentences.has_multi_vector());
    return weights;
  }
  double sum = 0;
  for (const auto& [name, weight, has] :
       {std::tuple("dense", weights.dense(), sentences.has_dense()),
        std::tuple("sparse", weights.sparse(), sentences.has_sparse()),
        std::tuple("multi_vector", weights.multi_vector(),
                   sentences.has_multi_vector())}) {
    const std::string field = fmt::format("weights.{}", name);
    if (!(weight >= 0) || !std::isfinite(weight)) {
      return InvalidField(field, "is not a number of 0 or more");
    }
    if (weight > 0 && !has) {
      return InvalidField(
          field, fmt::format("is above 0, and the model '{}' makes no such "
                             "embedding; leave it out",
                             model.name));
    }
    sum += weight;
  }
  if (sum > 0) return weights;
  return InvalidField("weights",
                      "are all 0; give at least one, or leave them out");
}

}  // namespace

absl::StatusOr<EmbeddingRanker> EmbeddingRanker::Create(
    const Environment& environment, const ServedModel& model,
    const v1::RerankRequest& request, const AliveCheck& check_alive) {
  TRIVIUM_ASSIGN_OR_RETURN(v1::RerankWeights weights,
                           ReadWeights(request, model));
  v1::EncodeRequest encode;
  if (weights.dense() > 0) encode.add_outputs(v1::ENCODE_OUTPUT_DENSE);
  if (weights.sparse() > 0) encode.add_outputs(v1::ENCODE_OUTPUT_SPARSE);
  if (weights.multi_vector() > 0) {
    encode.add_outputs(v1::ENCODE_OUTPUT_MULTI_VECTOR);
  }
  if (request.has_truncate()) encode.set_truncate(request.truncate());
  encode.set_truncation_direction(request.truncation_direction());
  const auto work = [&](v1::TextKind kind) {
    encode.set_kind(kind);
    return EncodeWork::Create(environment, model, encode, "", check_alive);
  };
  TRIVIUM_ASSIGN_OR_RETURN(EncodeWork query, work(v1::TEXT_KIND_QUERY));
  TRIVIUM_ASSIGN_OR_RETURN(EncodeWork document, work(v1::TEXT_KIND_DOCUMENT));
  const MultiVectors* const multi =
      model.model->sentence_encoder().multi_vectors();
  return EmbeddingRanker(std::move(weights),
                         multi != nullptr && multi->settings().takes_mean,
                         std::move(query), std::move(document));
}

absl::StatusOr<EncodeWork::Item> EmbeddingRanker::Prepare(
    const EncodeWork& work, const std::string& text, const std::string& field) {
  v1::Input input;
  input.set_text(text);
  return work.Prepare(input, field);
}

absl::Status EmbeddingRanker::SetQuery(const PreparedInput& query,
                                       RequestResult result) {
  TRIVIUM_ASSIGN_OR_RETURN(query_, query_work_.Embed(query, &result));
  return absl::OkStatus();
}

absl::StatusOr<EmbeddingRanker::Comparison> EmbeddingRanker::Compare(
    const PreparedInput& document, RequestResult result) const {
  TRIVIUM_ASSIGN_OR_RETURN(const Embeddings made,
                           document_work_.Embed(document, &result));
  Comparison comparison;
  double sum = 0, weights = 0;
  const auto add = [&](double weight, double product) {
    sum += weight * product;
    weights += weight;
    return static_cast<float>(product);
  };
  if (weights_.dense() > 0) {
    comparison.dense =
        add(weights_.dense(), DenseProduct(query_.dense, made.dense));
  }
  if (weights_.sparse() > 0) {
    comparison.sparse =
        add(weights_.sparse(), SparseProduct(query_.sparse, made.sparse));
  }
  if (weights_.multi_vector() > 0) {
    double product = MaxSim(query_.rows, made.rows);
    if (takes_mean_ && query_.rows.rows() > 0) product /= query_.rows.rows();
    comparison.multi_vector = add(weights_.multi_vector(), product);
  }
  comparison.score = static_cast<float>(sum / weights);
  return comparison;
}

}  // namespace trivium
