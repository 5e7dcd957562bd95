#ifndef TRIVIUM_SERVER_CALLS_CONVERT_CLASSIFY_TOKENS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_CLASSIFY_TOKENS_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "server/calls/convert/input_fields.h"
#include "server/calls/convert/token_spans.h"

namespace trivium {

// The spans that a ClassifyTokensRequest asks for. The request outlives this.
struct SpanOptions {
  v1::Aggregation aggregation = v1::AGGREGATION_UNSPECIFIED;
  absl::flat_hash_set<std::string_view> ignored;  // labels
};

// INVALID_ARGUMENT also for inputs that are pairs.
absl::StatusOr<SpanOptions> ReadSpanOptions(
    const v1::ClassifyTokensRequest& in);

// Adds the spans of an input, whose text may be null: it is ids.
void AddSpans(const SpanOptions& options, std::span<const LabeledToken> tokens,
              std::span<const std::string> labels, const std::string* text,
              v1::TokenClassification* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_CLASSIFY_TOKENS_H_
