#ifndef TRIVIUM_CLIENT_CLIENT_H_
#define TRIVIUM_CLIENT_CLIENT_H_

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/translate_stream.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/security/credentials.h"
#include "trivium/v1/inference.grpc.pb.h"
#include "trivium/v1/models.grpc.pb.h"

namespace trivium {

// Calls a trivium-server over gRPC. Every call has a deadline. Errors have the
// server's status code and say which field is wrong, when to try again, and the
// request id under which the server logged the call. Thread-safe.
//
//   absl::StatusOr<std::unique_ptr<Client>> client =
//       Client::Create({.address = "127.0.0.1:50051"});
//   v1::TranslateRequest request;
//   request.add_inputs()->set_text("I ate an apple.");
//   absl::StatusOr<v1::TranslateResponse> response =
//       (*client)->Translate(request);
class Client {
 public:
  struct Options {
    std::string address = "127.0.0.1:50051";  // HOST:PORT, or unix:/PATH
    // Time limit of each call, from its start to its last message.
    // TranslateStream has stream_timeout instead, since its length depends on
    // the texts.
    absl::Duration timeout = absl::Seconds(60);
    absl::Duration stream_timeout = absl::Hours(24);
    int max_response_bytes = 64 << 20;
    // Priority of each call. "batch" if nobody waits for the answers: other
    // calls then run first. "interactive", or empty for the server's default,
    // which is "interactive".
    std::string priority;
    // Null: no encryption. ReadTlsCredentials (tls.h) reads them from files.
    std::shared_ptr<grpc::ChannelCredentials> credentials = nullptr;
    // With TLS: the name in the server's certificate; empty: the host of the
    // address.
    std::string tls_server_name = {};
  };

  // Does not connect; the first call does. Returns INVALID_ARGUMENT for an
  // empty address, a timeout that is not positive and finite, or an unknown
  // priority.
  static absl::StatusOr<std::unique_ptr<Client>> Create(Options options);

  absl::StatusOr<v1::EncodeResponse> Encode(const v1::EncodeRequest& request);
  absl::StatusOr<v1::TranslateResponse> Translate(
      const v1::TranslateRequest& request);
  absl::StatusOr<v1::TokenizeResponse> Tokenize(
      const v1::TokenizeRequest& request);
  absl::StatusOr<v1::ScoreResponse> Score(const v1::ScoreRequest& request);
  absl::StatusOr<v1::ClassifyResponse> Classify(
      const v1::ClassifyRequest& request);
  absl::StatusOr<v1::RerankResponse> Rerank(const v1::RerankRequest& request);
  absl::StatusOr<v1::SimilarityResponse> Similarity(
      const v1::SimilarityRequest& request);
  absl::StatusOr<v1::ClassifyTokensResponse> ClassifyTokens(
      const v1::ClassifyTokensRequest& request);
  absl::StatusOr<v1::AnswerResponse> Answer(const v1::AnswerRequest& request);
  absl::StatusOr<v1::FillMaskResponse> FillMask(
      const v1::FillMaskRequest& request);
  absl::StatusOr<v1::ListModelsResponse> ListModels();
  // An empty name means the first model that serves the call.
  absl::StatusOr<v1::Model> GetModel(const std::string& name);
  // Need a server that was started with --model-root.
  absl::StatusOr<v1::Model> LoadModel(const v1::LoadModelRequest& request);
  absl::StatusOr<v1::Model> ReloadModel(const std::string& name);
  absl::Status UnloadModel(const std::string& name);
  // An empty service means the whole server.
  absl::StatusOr<grpc::health::v1::HealthCheckResponse> Health(
      const std::string& service);

  // Calls `on_event` with each message as it arrives. An error from `on_event`
  // cancels the call and is returned. A request to `stop`, from any thread,
  // cancels the call as well; the result is CANCELLED.
  absl::Status Generate(
      const v1::GenerateRequest& request,
      const std::function<absl::Status(const v1::GenerateResponse&)>& on_event,
      std::stop_token stop = {});

  // Opens a stream that translates with the options in `start`.
  std::unique_ptr<TranslateStream> StartTranslateStream(
      const v1::TranslateStreamRequest::Start& start);

 private:
  Client(Options options, std::shared_ptr<grpc::Channel> channel);

  // Calls stub.*method with a deadline.
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(
      Stub& stub,
      grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                   Response*),
      const Request& request);

  const Options options_;
  const std::unique_ptr<v1::Inference::Stub> inference_;
  const std::unique_ptr<v1::Models::Stub> models_;
  const std::unique_ptr<grpc::health::v1::Health::Stub> health_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_CLIENT_H_
