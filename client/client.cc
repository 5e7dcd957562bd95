#include "client/client.h"

#include <utility>

#include "client/call_status.h"
#include "client/channel.h"
#include "client/conversation_key.h"
#include "client/priority.h"
#include "fmt/format.h"

namespace trivium {
namespace {

absl::Status CheckTimeout(const char* name, absl::Duration timeout) {
  if (timeout > absl::ZeroDuration() && timeout < absl::Hours(24 * 365)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("{} is {}: give a positive time of less than a year", name,
                  absl::FormatDuration(timeout)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(Options options) {
  if (options.address.empty()) {
    return absl::InvalidArgumentError(
        "the server's address is empty: give HOST:PORT");
  }
  if (!options.priority.empty() && options.priority != "interactive" &&
      options.priority != "batch") {
    return absl::InvalidArgumentError(fmt::format(
        "the priority is '{}': give interactive or batch", options.priority));
  }
  for (const absl::Status& status :
       {CheckTimeout("timeout", options.timeout),
        CheckTimeout("stream timeout", options.stream_timeout)}) {
    if (!status.ok()) return status;
  }
  std::shared_ptr<grpc::Channel> channel = MakeChannel(options);
  return std::unique_ptr<Client>(
      new Client(std::move(options), std::move(channel)));
}

Client::Client(Options options, std::shared_ptr<grpc::Channel> channel)
    : options_(std::move(options)),
      inference_(v1::Inference::NewStub(channel)),
      models_(v1::Models::NewStub(channel)),
      health_(grpc::health::v1::Health::NewStub(channel)) {}

template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Client::Call(
    Stub& stub,
    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                 Response*),
    const Request& request) {
  grpc::ClientContext context;
  SetPriority(options_.priority, &context);
  context.set_deadline(absl::ToChronoTime(absl::Now() + options_.timeout));
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (absl::Status error =
          CallStatus(status, context, {options_.address, options_.timeout});
      !error.ok()) {
    return error;
  }
  return response;
}

absl::StatusOr<v1::EncodeResponse> Client::Encode(
    const v1::EncodeRequest& request) {
  return Call(*inference_, &v1::Inference::Stub::Encode, request);
}

absl::StatusOr<v1::TranslateResponse> Client::Translate(
    const v1::TranslateRequest& request) {
  return Call(*inference_, &v1::Inference::Stub::Translate, request);
}

absl::StatusOr<v1::TokenizeResponse> Client::Tokenize(
    const v1::TokenizeRequest& request) {
  return Call(*inference_, &v1::Inference::Stub::Tokenize, request);
}

absl::StatusOr<v1::ScoreResponse> Client::Score(
    const v1::ScoreRequest& request) {
  return Call(*inference_, &v1::Inference::Stub::Score, request);
}

absl::StatusOr<v1::ClassifyResponse> Client::Classify(
    const v1::ClassifyRequest& request) {
  return Call(*inference_, &v1::Inference::Stub::Classify, request);
}

absl::StatusOr<v1::RerankResponse> Client::Rerank(
    const v1::RerankRequest& request) {
  return Call(*inference_, &v1::Inference::Stub::Rerank, request);
}

absl::StatusOr<v1::SimilarityResponse> Client::Similarity(
    const v1::SimilarityRequest& request) {
  return Call(*inference_, &v1::Inference::Stub::Similarity, request);
}

absl::StatusOr<v1::ClassifyTokensResponse> Client::ClassifyTokens(
    const v1::ClassifyTokensRequest& request) {
  return Call(*inference_, &v1::Inference::Stub::ClassifyTokens, request);
}

absl::StatusOr<v1::AnswerResponse> Client::Answer(
    const v1::AnswerRequest& request) {
  return Call(*inference_, &v1::Inference::Stub::Answer, request);
}

absl::StatusOr<v1::FillMaskResponse> Client::FillMask(
    const v1::FillMaskRequest& request) {
  return Call(*inference_, &v1::Inference::Stub::FillMask, request);
}

absl::StatusOr<v1::ListModelsResponse> Client::ListModels() {
  return Call(*models_, &v1::Models::Stub::ListModels, v1::ListModelsRequest());
}

absl::StatusOr<v1::Model> Client::GetModel(const std::string& name) {
  v1::GetModelRequest request;
  request.set_name(name);
  return Call(*models_, &v1::Models::Stub::GetModel, request);
}

absl::StatusOr<v1::Model> Client::LoadModel(
    const v1::LoadModelRequest& request) {
  return Call(*models_, &v1::Models::Stub::LoadModel, request);
}

absl::StatusOr<v1::Model> Client::ReloadModel(const std::string& name) {
  v1::ReloadModelRequest request;
  request.set_name(name);
  return Call(*models_, &v1::Models::Stub::ReloadModel, request);
}

absl::Status Client::UnloadModel(const std::string& name) {
  v1::UnloadModelRequest request;
  request.set_name(name);
  return Call(*models_, &v1::Models::Stub::UnloadModel, request).status();
}

absl::StatusOr<grpc::health::v1::HealthCheckResponse> Client::Health(
    const std::string& service) {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  return Call(*health_, &grpc::health::v1::Health::Stub::Check, request);
}

absl::Status Client::Generate(
    const v1::GenerateRequest& request,
    const std::function<absl::Status(const v1::GenerateResponse&)>& on_event,
    std::stop_token stop) {
  grpc::ClientContext context;
  SetPriority(options_.priority, &context);
  if (request.has_chat()) {
    context.AddMetadata(kConversationKey, ConversationOf(request.chat()));
  }
  context.set_deadline(absl::ToChronoTime(absl::Now() + options_.timeout));
  const std::unique_ptr<grpc::ClientReader<v1::GenerateResponse>> reader =
      inference_->Generate(&context, request);
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  v1::GenerateResponse response;
  while (reader->Read(&response)) {
    if (absl::Status status = on_event(response); !status.ok()) {
      context.TryCancel();
      reader->Finish();
      return status;
    }
  }
  return CallStatus(reader->Finish(), context,
                    {options_.address, options_.timeout});
}

std::unique_ptr<TranslateStream> Client::StartTranslateStream(
    const v1::TranslateStreamRequest::Start& start) {
  return std::make_unique<TranslateStream>(*inference_, start,
                                           options_.stream_timeout,
                                           options_.address, options_.priority);
}

}  // namespace trivium
