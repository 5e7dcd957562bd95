// Tokenize: texts to ids with their places.
#include <fmt/format.h>

#include "base/status.h"
#include "server/handlers/convert.h"
#include "server/handlers/handlers.h"
#include "server/handlers/status.h"
#include "server/handlers/unary.h"

namespace trivium {
namespace {

// The least that a token takes on the wire beside its piece: any (with its id,
// its piece's size and where it ends), and one that is not the text's first.
constexpr int64_t kTokenBytes = 8;
constexpr int64_t kLaterTokenBytes = 14;

class TokenizeCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    if (model().tokenizer() == nullptr) {
      return absl::FailedPreconditionError(
          "the model's folder has no tokenizer, so its texts cannot be "
          "tokenized");
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckInputCount(request_.texts_size(), "texts", limits));
    for (int i = 0; i < request_.texts_size(); ++i) {
      TRIVIUM_RETURN_IF_ERROR(CheckTextBytes(
          request_.texts(i).size(), fmt::format("texts[{}]", i), limits));
    }
    return absl::OkStatus();
  }

  bool NeedsBatcher() const override { return false; }

  int parts() const override { return request_.texts_size(); }
  int64_t TextBytes(int part) const override {
    return static_cast<int64_t>(request_.texts(part).size());
  }

  absl::Status Prepare(int part, std::vector<Request>*) override {
    EncodeOptions options;
    options.side = request_.target() ? TextSide::kTarget : TextSide::kSource;
    options.add_special_tokens =
        !request_.has_add_special_tokens() || request_.add_special_tokens();
    // More cannot be told.
    options.most_tokens =
        environment().limits.max_response_bytes / kLaterTokenBytes;
    options.wanted = [this] { return call().Wanted(); };
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::vector<Token> tokens,
        model().tokenizer()->Tokenize(request_.texts(part), options));
    for (const Token& token : tokens) {
      response_bytes_ += kTokenBytes + static_cast<int64_t>(token.piece.size());
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckResponseSize(response_bytes_, environment().limits));
    v1::TokenizedText* result = response_.add_results();
    for (const Token& token : tokens) {
      *result->add_tokens() = ConvertToken(token);
    }
    return absl::OkStatus();
  }

  absl::Status Respond(int, RequestResult) override {
    return absl::OkStatus();  // no request, no result
  }
  const google::protobuf::Message& Response() override {
    *response_.mutable_model() = call().model_version();
    return response_;
  }

  v1::TokenizeRequest request_;
  v1::TokenizeResponse response_;
  int64_t response_bytes_ = 0;  // at least
};

}  // namespace

std::unique_ptr<Handler> NewTokenize(const Environment& environment,
                                     CallContext context,
                                     Transport* transport) {
  return std::make_unique<TokenizeCall>(environment, std::move(context),
                                        Rpc::kTokenize, transport);
}

}  // namespace trivium
