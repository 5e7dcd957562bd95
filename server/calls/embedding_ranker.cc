#include "server/calls/embedding_ranker.h"

#include <utility>

#include "base/status.h"

namespace trivium {

absl::StatusOr<EmbeddingRanker> EmbeddingRanker::Create(
    const Environment& environment, const ServedModel& model,
    const v1::RerankRequest& request, const AliveCheck& check_alive) {
  TRIVIUM_ASSIGN_OR_RETURN(const EmbeddingWeights weights,
                           ReadEmbeddingWeights(request, model));
  const auto work = [&](v1::TextKind kind) {
    return EncodeWork::Create(environment, model,
                              ToEncodeRequest(weights, request, kind), "",
                              check_alive);
  };
  TRIVIUM_ASSIGN_OR_RETURN(EncodeWork query, work(v1::TEXT_KIND_QUERY));
  TRIVIUM_ASSIGN_OR_RETURN(EncodeWork document, work(v1::TEXT_KIND_DOCUMENT));
  return EmbeddingRanker(ComparisonOf(weights, *model.model, check_alive),
                         std::move(query), std::move(document));
}

absl::Status EmbeddingRanker::SetQuery(const PreparedInput& query,
                                       RequestResult result) {
  TRIVIUM_ASSIGN_OR_RETURN(TextEmbeddings made,
                           query_work_.Embed(query, &result));
  query_.emplace(std::move(made));
  return absl::OkStatus();
}

absl::StatusOr<EmbeddingProducts> EmbeddingRanker::Compare(
    const PreparedInput& document, RequestResult result) const {
  TRIVIUM_ASSIGN_OR_RETURN(const TextEmbeddings made,
                           document_work_.Embed(document, &result));
  return CompareEmbeddings(comparison_, *query_, made);
}

}  // namespace trivium
