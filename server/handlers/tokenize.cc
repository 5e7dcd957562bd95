// Tokenize: texts to ids with their places.
#include <fmt/format.h>

#include "base/status.h"
#include "server/handlers/convert.h"
#include "server/handlers/handlers.h"
#include "server/handlers/status.h"
#include "server/handlers/unary.h"

namespace trivium {
namespace {

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

  int64_t TextBytes() const override {
    int64_t bytes = 0;
    for (const std::string& text : request_.texts()) bytes += text.size();
    return bytes;
  }

  absl::StatusOr<std::vector<Request>> Prepare() override {
    EncodeOptions options;
    options.side = request_.target() ? TextSide::kTarget : TextSide::kSource;
    options.add_special_tokens =
        !request_.has_add_special_tokens() || request_.add_special_tokens();
    for (const std::string& text : request_.texts()) {
      TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Token> tokens,
                               model().tokenizer()->Tokenize(text, options));
      v1::TokenizedText* result = response_.add_results();
      for (const Token& token : tokens) {
        *result->add_tokens() = ConvertToken(token);
      }
    }
    return std::vector<Request>();
  }

  const google::protobuf::Message& Respond(
      std::vector<RequestResult> results) override {
    *response_.mutable_model() = call().model_version();
    return response_;
  }

  v1::TokenizeRequest request_;
  v1::TokenizeResponse response_;
};

}  // namespace

std::unique_ptr<Handler> NewTokenize(const Environment& environment,
                                     CallContext context,
                                     Transport* transport) {
  return std::make_unique<TokenizeCall>(environment, std::move(context),
                                        Rpc::kTokenize, transport);
}

}  // namespace trivium
