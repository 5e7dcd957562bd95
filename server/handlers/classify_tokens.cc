// ClassifyTokens: the tokens of texts to labels, and these to spans.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "server/handlers/handlers.h"
#include "server/handlers/head_call.h"
#include "server/handlers/status.h"
#include "server/handlers/token_spans.h"

namespace trivium {
namespace {

using Span = v1::TokenClassification::Span;

class ClassifyTokensCall : public HeadCall {
 public:
  using HeadCall::HeadCall;

 private:
  absl::Status Open() override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(
        OpenHead(&request_, "ClassifyTokens",
                 {HeadKind::kTag, HeadKind::kDiscriminate}));
    set_truncate(request_.has_truncate(), request_.truncate());
    if (!v1::Aggregation_IsValid(request_.aggregation())) {
      return InvalidField(
          "aggregation", fmt::format("has no value {}",
                                     static_cast<int>(request_.aggregation())));
    }
    for (int i = 0; i < request_.inputs_size(); ++i) {
      if (request_.inputs(i).has_pair()) {
        return InvalidField(FieldOf(i) + ".pair",
                            "cannot be; send a text or ids");
      }
    }
    return CheckInputCount(request_.inputs_size(), "inputs", limits);
  }

  int64_t TextBytes() const override {
    return trivium::TextBytes(request_.inputs());
  }

  absl::StatusOr<std::vector<Request>> Prepare() override {
    std::vector<Request> requests;
    for (int i = 0; i < request_.inputs_size(); ++i) {
      const v1::Input& input = request_.inputs(i);
      TRIVIUM_RETURN_IF_ERROR(AddInput(input, FieldOf(i), &requests));
      tokens_.emplace_back();
      if (!input.has_text()) continue;
      TRIVIUM_ASSIGN_OR_RETURN(tokens_.back(),
                               model().tokenizer()->Tokenize(input.text(), {}));
    }
    return requests;
  }

  const google::protobuf::Message& Respond(
      std::vector<RequestResult> results) override {
    for (size_t i = 0; i < results.size(); ++i) {
      v1::TokenClassification* out = response_.add_results();
      AddSpans(i, results[i].logits, out);
      out->set_token_count(token_count(i));
      out->set_truncated_tokens(inputs()[i].truncated);
    }
    return WithTimings(&response_);
  }

  void AddSpans(size_t input, std::span<const float> logits,
                v1::TokenClassification* out) const {
    const v1::Input& in = request_.inputs(static_cast<int>(input));
    const size_t count = inputs()[input].source.ids.size();
    const size_t outputs = logits.size() / count;
    std::vector<ScoredToken> tokens;
    for (size_t i = 0; i < count; ++i) {
      const Token* token = Find(input, i);
      if (in.has_text() && (token == nullptr || token->special)) continue;
      tokens.push_back(
          {.index = static_cast<int>(i),
           .token = token,
           .inside_word = token != nullptr &&
                          IsInsideWord(*model().tokenizer(), in.text(), *token),
           .scores = Scores(logits.subspan(i * outputs, outputs))});
    }
    for (Span& span :
         MakeSpans(tokens, head().labels, request_.aggregation())) {
      if (Ignored(span.label())) continue;
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

  bool Ignored(std::string_view label) const {
    if (request_.ignore().empty()) return label == "O";
    return std::find(request_.ignore().begin(), request_.ignore().end(),
                     label) != request_.ignore().end();
  }

  // The text's token that became id `i`; null for what stands after a cut.
  const Token* Find(size_t input, size_t i) const {
    const std::vector<Token>& tokens = tokens_[input];
    return i < tokens.size() && tokens[i].id == inputs()[input].source.ids[i]
               ? &tokens[i]
               : nullptr;
  }

  v1::ClassifyTokensRequest request_;
  v1::ClassifyTokensResponse response_;
  std::vector<std::vector<Token>> tokens_;  // [inputs], of texts
};

}  // namespace

std::unique_ptr<Handler> NewClassifyTokens(const Environment& environment,
                                           CallContext context,
                                           Transport* transport) {
  return std::make_unique<ClassifyTokensCall>(environment, std::move(context),
                                              Rpc::kClassifyTokens, transport);
}

}  // namespace trivium
