#ifndef TRIVIUM_SERVER_CALLS_CONVERT_CLASSIFY_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_CLASSIFY_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "server/calls/convert/input_fields.h"

namespace trivium {

// Classify.

// Returns how many labels are wanted; unset: all.
absl::StatusOr<std::optional<uint32_t>> ReadTop(const v1::ClassifyRequest& in);

// Adds the label of a logit. `index` is its place among the head's labels, or
// the request's.
void AddLabel(const std::string& name, int index, float score, float logit,
              v1::Classification* out);

// Rerank.

// A RerankRequest, ready to use. The request outlives this.
struct RerankJob {
  const std::string* query = nullptr;
  Elements<std::string> documents;
  std::optional<uint32_t> top;  // documents to return; unset: all
  bool return_text = false;
};

// Also sets in `options` where pairs are cut, and their prompt. The model and
// the limits are set already.
absl::StatusOr<RerankJob> ReadRerank(const v1::RerankRequest& in,
                                     const Environment& environment,
                                     const ServedModel& model,
                                     InputOptions* options);

// Adds document `index`, whose pair with the query became `input`, and returns
// it.
v1::RerankResponse::Document* AddDocument(const RerankJob& job, int index,
                                          float score, float logit,
                                          const PreparedInput& input,
                                          v1::RerankResponse* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_CLASSIFY_H_
