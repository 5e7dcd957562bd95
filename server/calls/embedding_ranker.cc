#include "server/calls/embedding_ranker.h"

#include "base/status.h"

namespace trivium {

absl::StatusOr<EmbeddingRanker> EmbeddingRanker::Create(
    const Environment& environment, const ServedModel& model,
    const v1::RerankRequest& request, const AliveCheck& check_alive) {
  TRIVIUM_ASSIGN_OR_RETURN(const EmbeddingWeights weights,
                           ReadEmbeddingWeights(request, model));
  const auto work = [&](v1::TextKind kind) {
    v1::EncodeRequest encode = ToEncodeRequest(weights, request);
    encode.set_kind(kind);
    return EncodeWork::Create(environment, model, encode, "", check_alive);
  };
  TRIVIUM_ASSIGN_OR_RETURN(EncodeWork query, work(v1::TEXT_KIND_QUERY));
  TRIVIUM_ASSIGN_OR_RETURN(EncodeWork document, work(v1::TEXT_KIND_DOCUMENT));
  return EmbeddingRanker(ComparisonOf(weights, *model.model, check_alive),
                         std::move(query), std::move(document));
}

absl::Status EmbeddingRanker::SetQuery(const PreparedInput& query,
                                       RequestResult result) {
  TRIVIUM_ASSIGN_OR_RETURN(query_, query_work_.Embed(query, &result));
  query_rows_.emplace(MaxSimQueryOf(query_.rows));
  return absl::OkStatus();
}

absl::StatusOr<EmbeddingProducts> EmbeddingRanker::Compare(
    const PreparedInput& document, RequestResult result) const {
  TRIVIUM_ASSIGN_OR_RETURN(const TextEmbeddings made,
                           document_work_.Embed(document, &result));
  return CompareEmbeddings(comparison_, query_, made,
                           query_rows_ ? &*query_rows_ : nullptr);
}

}  // namespace trivium
