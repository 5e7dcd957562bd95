// Tokenize: texts to ids with their places.
#include <fmt/format.h>

#include "base/status.h"
#include "server/rpc/convert.h"
#include "server/rpc/handlers.h"
#include "server/rpc/status.h"
#include "server/rpc/unary.h"
#include "server/rpc/wire.h"

namespace trivium {
namespace {

class TokenizeCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Parse(const grpc::ByteBuffer& request) override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(
        ParseMessage(request, limits.max_request_bytes, &request_));
    TRIVIUM_ASSIGN_OR_RETURN(const ServedModel* model,
                             FindModel(environment(), request_.model()));
    call().set_model(model);
    if (model->model->tokenizer() == nullptr) {
      return absl::FailedPreconditionError(
          "the model's folder has no tokenizer, so its texts cannot be "
          "tokenized");
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckInputCount(request_.texts_size(), "texts", limits));
    for (int i = 0; i < request_.texts_size(); ++i) {
      const int64_t bytes = static_cast<int64_t>(request_.texts(i).size());
      if (bytes > limits.max_text_bytes) {
        return InvalidField(fmt::format("texts[{}]", i),
                            fmt::format("has {} bytes; a text has at most {}",
                                        bytes, limits.max_text_bytes));
      }
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
      TRIVIUM_ASSIGN_OR_RETURN(
          const std::vector<Token> tokens,
          call().model().model->tokenizer()->Tokenize(text, options));
      v1::TokenizedText* result = response_.add_results();
      for (const Token& token : tokens) {
        *result->add_tokens() = ConvertToken(token);
      }
    }
    return std::vector<Request>();
  }

  absl::Status Respond(std::vector<RequestResult> results,
                       grpc::ByteBuffer* response) override {
    *response_.mutable_model() = call().model_version();
    return SerializeMessage(response_, environment().limits.max_response_bytes,
                            response);
  }

  v1::TokenizeRequest request_;
  v1::TokenizeResponse response_;
};

}  // namespace

grpc::ServerUnaryReactor* HandleTokenize(const Environment& environment,
                                         grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) {
  auto* call =
      new TokenizeCall(environment, context, Rpc::kTokenize, request, response);
  call->Start();
  return call;
}

}  // namespace trivium
