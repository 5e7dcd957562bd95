#include "server/calls/convert/classify_tokens.h"

#include <fmt/format.h>

#include <utility>

#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr int kMostIgnored = 1024;

}  // namespace

absl::StatusOr<SpanOptions> ReadSpanOptions(
    const v1::ClassifyTokensRequest& in) {
  if (!v1::Aggregation_IsValid(in.aggregation())) {
    return InvalidField(
        "aggregation",
        fmt::format("has no value {}", static_cast<int>(in.aggregation())));
  }
  for (int i = 0; i < in.inputs_size(); ++i) {
    if (in.inputs(i).has_pair()) {
      return InvalidField(fmt::format("inputs[{}].pair", i),
                          "cannot be; send a text or ids");
    }
  }
  if (in.ignore_size() > kMostIgnored) {
    return InvalidField("ignore", fmt::format("has {} labels; give at most {}",
                                              in.ignore_size(), kMostIgnored));
  }
  SpanOptions options{.aggregation = in.aggregation(), .ignored = {}};
  options.ignored.insert(in.ignore().begin(), in.ignore().end());
  if (options.ignored.empty()) options.ignored.insert("O");
  return options;
}

void AddSpans(const SpanOptions& options, std::span<const LabeledToken> tokens,
              std::span<const std::string> labels, const std::string* text,
              v1::TokenClassification* out) {
  for (auto& span : MakeSpans(tokens, labels, options.aggregation)) {
    if (options.ignored.contains(span.label())) continue;
    if (text != nullptr) {
      span.set_text(
          text->substr(span.byte_begin(), span.byte_end() - span.byte_begin()));
    }
    *out->add_spans() = std::move(span);
  }
}

}  // namespace trivium
