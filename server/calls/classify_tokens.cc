// ClassifyTokens: finds the labels of tokens, and makes spans of these.
#include "server/calls/convert/classify_tokens.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/calls/handlers.h"
#include "server/calls/heads.h"
#include "server/calls/inputs_call.h"

namespace trivium {
namespace {

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
    TRIVIUM_ASSIGN_OR_RETURN(span_options_, ReadSpanOptions(request()));
    return OpenInputs();
  }

  absl::Status Want(int, const PreparedInput&, Request* request) override {
    request->logits = true;
    return absl::OkStatus();
  }

  absl::Status HandleResult(int i, RequestResult result) override {
    v1::TokenClassification* out = AddResultOf(i);
    AddSpans(span_options_, ScoreTokens(i, result.logits), head().labels,
             TextOf(message(i)), out);
    response_bytes_ += static_cast<int64_t>(out->ByteSizeLong());
    return CheckResponseSize(response_bytes_, environment().limits);
  }

  const HeadInfo& head() const { return *model().info().head; }

  // Returns the tokens of input i, without the special ones around the text.
  // Those in the text, as an unknown word, count.
  std::vector<LabeledToken> ScoreTokens(int i,
                                        std::span<const float> logits) const {
    const std::string* text = TextOf(message(i));
    const size_t count = input(i).source.ids.size();
    const size_t outputs = logits.size() / count;
    std::vector<LabeledToken> tokens;
    for (size_t t = 0; t < count; ++t) {
      const Token* token = text != nullptr ? &input(i).tokens[t] : nullptr;
      if (token != nullptr && token->special &&
          token->byte_begin == token->byte_end) {
        continue;
      }
      tokens.push_back(
          {.index = static_cast<int>(t),
           .token = token,
           .inside_word = token != nullptr &&
                          IsInsideWord(*model().tokenizer(), *text, *token),
           .scores = Scores(logits.subspan(t * outputs, outputs))});
    }
    return tokens;
  }

  std::vector<float> Scores(std::span<const float> logits) const {
    std::vector<float> all(logits.begin(), logits.end());
    if (head().kind == HeadKind::kDiscriminate) all.insert(all.begin(), 0);
    return ToScores(all, head().scores);
  }

  SpanOptions span_options_;
  int64_t response_bytes_ = 0;  // of the results so far
};

}  // namespace

std::unique_ptr<Handler> NewClassifyTokens(const Environment& environment,
                                           CallContext context,
                                           Transport* transport) {
  return std::make_unique<ClassifyTokensCall>(environment, std::move(context),
                                              Rpc::kClassifyTokens, transport);
}

}  // namespace trivium
