#ifndef TRIVIUM_SERVER_CALLS_CONVERT_EMBEDDING_RANK_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_EMBEDDING_RANK_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/calls/convert/classify.h"

namespace trivium {

// Rerank for models that make embeddings, and what it shares with Similarity.

// The weight of the product of each kind of embedding; at least one is above 0.
struct EmbeddingWeights {
  double dense = 0;
  double sparse = 0;
  double multi_vector = 0;
};

// Returns the weights of a request, or 1 for each embedding that the model
// makes.
absl::StatusOr<EmbeddingWeights> ReadEmbeddingWeights(
    const v1::RerankWeights* in, const ServedModel& model);
template <typename Request>
absl::StatusOr<EmbeddingWeights> ReadEmbeddingWeights(
    const Request& in, const ServedModel& model) {
  return ReadEmbeddingWeights(in.has_weights() ? &in.weights() : nullptr,
                              model);
}
// INVALID_ARGUMENT if the request has weights, for models that read pairs.
absl::Status RefuseEmbeddingWeights(const v1::RerankRequest& in);

// Returns a request that makes the embeddings that count, without inputs.
v1::EncodeRequest ToEncodeRequest(const EmbeddingWeights& weights);
// The same, which cuts texts as `in` says.
template <typename Request>
v1::EncodeRequest ToEncodeRequest(const EmbeddingWeights& weights,
                                  const Request& in) {
  v1::EncodeRequest out = ToEncodeRequest(weights);
  if (in.has_truncate()) out.set_truncate(in.truncate());
  out.set_truncation_direction(in.truncation_direction());
  return out;
}
// The same, for texts of that kind.
template <typename Request>
v1::EncodeRequest ToEncodeRequest(const EmbeddingWeights& weights,
                                  const Request& in, v1::TextKind kind) {
  v1::EncodeRequest out = ToEncodeRequest(weights, in);
  out.set_kind(kind);
  return out;
}
v1::Input ToInput(const std::string& text);

// The products of a document's embeddings with the query's. Those that do not
// count are unset.
struct EmbeddingProducts {
  std::optional<float> dense, sparse, multi_vector;
  float score = 0;
};

// Adds document `index`, which became `input`.
void AddCompared(const RerankJob& job, int index,
                 const EmbeddingProducts& products, const PreparedInput& input,
                 v1::RerankResponse* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_EMBEDDING_RANK_H_
