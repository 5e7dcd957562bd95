// ClassifyTokens: finds the labels of tokens, and makes spans of these.
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "server/calls/convert/token_spans.h"
#include "server/calls/handlers.h"
#include "server/calls/heads.h"
#include "server/calls/inputs_call.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr int kMostIgnored = 1024;

using Span = v1::TokenClassification::Span;

class ClassifyTokensCall final
    : public InputsCall<v1::ClassifyTokensRequest, v1::ClassifyTokensResponse> {
 public:
  using InputsCall::InputsCall;

 private:
  absl::Status Open() override {
    TRIVIUM_RETURN_IF_ERROR(OpenRequest());
    options().tokens = true;
    TRIVIUM_RETURN_IF_ERROR(
        CheckHead(call().model(), "ClassifyTokens",
                  {HeadKind::kTag, HeadKind::kDiscriminate}));
    if (!v1::Aggregation_IsValid(request().aggregation())) {
      return InvalidField(
          "aggregation",
          fmt::format("has no value {}",
                      static_cast<int>(request().aggregation())));
    }
    for (int i = 0; i < request().inputs_size(); ++i) {
      if (request().inputs(i).has_pair()) {
        return InvalidField(FieldOf(i) + ".pair",
                            "cannot be; send a text or ids");
      }
    }
    if (request().ignore_size() > kMostIgnored) {
      return InvalidField("ignore",
                          fmt::format("has {} labels; give at most "
                                      "{}",
                                      request().ignore_size(), kMostIgnored));
    }
    ignored_.insert(request().ignore().begin(), request().ignore().end());
    if (ignored_.empty()) ignored_.insert("O");
    return CheckInputs();
  }

  absl::Status Want(int, const PreparedInput&, Request* request) override {
    request->logits = true;
    return absl::OkStatus();
  }

  absl::Status HandleResult(int i, RequestResult result) override {
    v1::TokenClassification* out = AddResultOf(i);
    AddSpans(i, result.logits, out);
    response_bytes_ += static_cast<int64_t>(out->ByteSizeLong());
    return CheckResponseSize(response_bytes_, environment().limits);
  }

  const HeadInfo& head() const { return *model().info().head; }

  void AddSpans(int input, std::span<const float> logits,
                v1::TokenClassification* out) const {
    const v1::Input& in = request().inputs(input);
    const size_t count = inputs()[input].source.ids.size();
    const size_t outputs = logits.size() / count;
    std::vector<ScoredToken> tokens;
    for (size_t i = 0; i < count; ++i) {
      const Token* token = in.has_text() ? &inputs()[input].tokens[i] : nullptr;
      if (token != nullptr && token->special) continue;
      tokens.push_back(
          {.index = static_cast<int>(i),
           .token = token,
           .inside_word = token != nullptr &&
                          IsInsideWord(*model().tokenizer(), in.text(), *token),
           .scores = Scores(logits.subspan(i * outputs, outputs))});
    }
    for (Span& span :
         MakeSpans(tokens, head().labels, request().aggregation())) {
      if (ignored_.contains(span.label())) continue;
      if (in.has_text()) {
        span.set_text(in.text().substr(span.byte_begin(),
                                       span.byte_end() - span.byte_begin()));
      }
      *out->add_spans() = std::move(span);
    }
  }

  std::vector<float> Scores(std::span<const float> logits) const {
    std::vector<float> all(logits.begin(), logits.end());
    if (head().kind == HeadKind::kDiscriminate) all.insert(all.begin(), 0);
    return ToScores(all, head().scores);
  }

  absl::flat_hash_set<std::string_view> ignored_;  // of the request
  int64_t response_bytes_ = 0;                     // of the results so far
};

}  // namespace

std::unique_ptr<Handler> NewClassifyTokens(const Environment& environment,
                                           CallContext context,
                                           Transport* transport) {
  return std::make_unique<ClassifyTokensCall>(environment, std::move(context),
                                              Rpc::kClassifyTokens, transport);
}

}  // namespace trivium
