#ifndef TRIVIUM_SERVER_CALLS_EMBEDDING_RANKER_H_
#define TRIVIUM_SERVER_CALLS_EMBEDDING_RANKER_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/calls/compare_embeddings.h"
#include "server/calls/convert/embedding_rank.h"
#include "server/calls/encode_work.h"

namespace trivium {

// Compares a query with documents by their embeddings, for models that make
// sparse ones or multi-vectors (RanksByEmbeddings):
//
//   score = (w_dense q . d + w_sparse q_s . d_s + w_multi MaxSim(q, d)) /
//           (w_dense + w_sparse + w_multi)
//
//   ranker.PrepareQuery(text), then ranker.PrepareDocument(text, field)...
//   ranker.SetQuery(item, result), then ranker.Compare(item, result)...
class EmbeddingRanker {
 public:
  // `check_alive` is InputOptions'.
  static absl::StatusOr<EmbeddingRanker> Create(
      const Environment& environment, const ServedModel& model,
      const v1::RerankRequest& request, const AliveCheck& check_alive);

  absl::StatusOr<EncodeWork::Item> PrepareQuery(const std::string& text) const {
    return query_work_.Prepare(ToInput(text), "query");
  }
  absl::StatusOr<EncodeWork::Item> PrepareDocument(
      const std::string& text, const std::string& field) const {
    return document_work_.Prepare(ToInput(text), field);
  }

  // `result` is of the query's request.
  absl::Status SetQuery(const PreparedInput& query, RequestResult result);
  absl::StatusOr<EmbeddingProducts> Compare(const PreparedInput& document,
                                            RequestResult result) const;

 private:
  EmbeddingRanker(EmbeddingComparison comparison, EncodeWork query,
                  EncodeWork document)
      : comparison_(std::move(comparison)),
        query_work_(std::move(query)),
        document_work_(std::move(document)) {}

  EmbeddingComparison comparison_;
  EncodeWork query_work_;
  EncodeWork document_work_;
  std::optional<QueryEmbeddings> query_;  // set by SetQuery
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_EMBEDDING_RANKER_H_
