// ClassifyTokens: the tokens of texts to labels, and these to spans.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status.h"
#include "server/rpc/handlers.h"
#include "server/rpc/head_call.h"
#include "server/rpc/status.h"
#include "server/rpc/wire.h"

namespace trivium {
namespace {

using Span = v1::TokenClassification::Span;

// "B-PER" begins a PER, "I-PER" or "PER" goes on with one.
struct Tag {
  bool begins = false;
  std::string_view name;

  explicit Tag(std::string_view label) : name(label) {
    if (label.substr(0, 2) == "B-" || label.substr(0, 2) == "I-") {
      begins = label[0] == 'B';
      name.remove_prefix(2);
    }
  }
};

class ClassifyTokensCall : public HeadCall {
 public:
  using HeadCall::HeadCall;

 private:
  absl::Status Parse(const grpc::ByteBuffer& request) override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(
        ParseMessage(request, limits.max_request_bytes, &request_));
    TRIVIUM_RETURN_IF_ERROR(
        FindHead(request_.model(), "ClassifyTokens",
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
    int64_t bytes = 0;
    for (const v1::Input& input : request_.inputs()) {
      bytes += trivium::TextBytes(input);
    }
    return bytes;
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

  std::string FieldOf(int request) const override {
    return fmt::format("inputs[{}]", request);
  }

  absl::Status Respond(std::vector<RequestResult> results,
                       grpc::ByteBuffer* response) override {
    v1::ClassifyTokensResponse message;
    for (size_t i = 0; i < results.size(); ++i) {
      v1::TokenClassification* out = message.add_results();
      AddSpans(i, results[i].logits, out);
      out->set_token_count(token_count(i));
      out->set_truncated_tokens(inputs()[i].truncated);
    }
    return Send(&message, response);
  }

  void AddSpans(size_t input, std::span<const float> logits,
                v1::TokenClassification* out) const {
    const bool simple = request_.aggregation() != v1::AGGREGATION_NONE;
    const size_t count = inputs()[input].source.ids.size();
    const size_t outputs = logits.size() / count;
    std::optional<Span> span;
    int length = 0;  // tokens of it
    const auto end = [&] {
      if (span && !Ignored(span->label())) {
        span->set_score(span->score() / static_cast<float>(length));
        SetText(input, &*span);
        *out->add_spans() = *std::move(span);
      }
      span.reset();
      length = 0;
    };
    for (size_t i = 0; i < count; ++i) {
      const Token* token = Find(input, i);
      if (request_.inputs(static_cast<int>(input)).has_text() &&
          (token == nullptr || token->special)) {
        end();
        continue;
      }
      const auto [label, score] = Best(logits.subspan(i * outputs, outputs));
      const Tag tag(label);
      const bool goes_on =
          simple && span && !tag.begins && span->label() == tag.name;
      if (!goes_on) {
        end();
        span.emplace();
        span->set_label(std::string(simple ? tag.name : label));
        span->set_token_begin(static_cast<uint32_t>(i));
        if (token != nullptr) {
          span->set_byte_begin(token->byte_begin);
          span->set_char_begin(token->char_begin);
        }
      }
      span->set_score(span->score() + score);
      span->set_token_end(static_cast<uint32_t>(i) + 1);
      if (token != nullptr) {
        span->set_byte_end(token->byte_end);
        span->set_char_end(token->char_end);
      }
      ++length;
    }
    end();
  }

  // The best label of a token and its score.
  std::pair<std::string_view, float> Best(std::span<const float> logits) const {
    std::vector<float> all(logits.begin(), logits.end());
    if (head().kind == HeadKind::kDiscriminate) all.insert(all.begin(), 0);
    const std::vector<float> scores = ToScores(all, head().scores);
    const int best = LargestFirst(all, 1).front();
    return {head().labels[best], scores[best]};
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

  void SetText(size_t input, Span* span) const {
    const std::string& text = request_.inputs(static_cast<int>(input)).text();
    span->set_text(
        text.substr(span->byte_begin(), span->byte_end() - span->byte_begin()));
  }

  v1::ClassifyTokensRequest request_;
  std::vector<std::vector<Token>> tokens_;  // [inputs], of texts
};

}  // namespace

grpc::ServerUnaryReactor* HandleClassifyTokens(
    const Environment& environment, grpc::CallbackServerContext* context,
    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  auto* call = new ClassifyTokensCall(environment, context,
                                      Rpc::kClassifyTokens, request, response);
  call->Start();
  return call;
}

}  // namespace trivium
