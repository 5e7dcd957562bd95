#ifndef TRIVIUM_TESTS_SERVER_TRANSPORTS_GRPC_RPC_FIXTURE_H_
#define TRIVIUM_TESTS_SERVER_TRANSPORTS_GRPC_RPC_FIXTURE_H_

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/batching/caching_batcher.h"
#include "server/server.h"
#include "server/transports/grpc/library_logs.h"
#include "tests/server/transports/grpc/puppet_batcher.h"
#include "tests/support/puppet_model.h"
#include "trivium/v1/inference.grpc.pb.h"
#include "trivium/v1/models.grpc.pb.h"

namespace trivium {

// A real server on a free port and a real channel to it, over a puppet
// batcher and three puppet models: "translator" (the default), "encoder" and
// "ids" (a translator without a tokenizer).
class RpcTest : public testing::Test {
 protected:
  // Clients' mistakes do not go to the log, as in the program.
  static void SetUpTestSuite() { CaptureLibraryLogs(); }

  void SetUp() override { StartServer(); }

  // For tests that need other models, or parts that may be null.
  virtual void AddParts(Server::Parts* parts) {}

  // A test may change options_ and start again.
  void StartServer() {
    server_.reset();
    Server::Parts parts;
    auto ids = std::make_unique<PuppetModel>();
    ids->RemoveTokenizer();
    parts.models.push_back(ServedPuppet(
        "translator", std::make_unique<PuppetModel>(), result_cache_bytes_));
    parts.models.push_back(ServedPuppet(
        "encoder", std::make_unique<PuppetModel>(Design::kEncoder)));
    parts.models.push_back(ServedPuppet("ids", std::move(ids)));
    AddParts(&parts);
    parts.metrics = std::make_unique<Metrics>(1);
    metrics_ = parts.metrics.get();
    for (const ModelHandle& model : parts.models) metrics_->AddModel(*model);
    auto batcher = std::make_unique<PuppetBatcher>();
    batcher_ = batcher.get();
    parts.batcher = std::move(batcher);
    if (result_cache_bytes_ > 0) {
      parts.batcher = std::make_unique<CachingBatcher>(
          std::move(parts.batcher), result_cache_bytes_, metrics_);
    }
    auto server = Server::Create(options_, std::move(parts));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::ChannelArguments arguments;
    // Tests make several servers, each with its own connections.
    arguments.SetInt("grpc.use_local_subchannel_pool", 1);
    // Small windows, so that a client that does not read is noticed soon.
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    channel_ = grpc::CreateCustomChannel(
        "127.0.0.1:" + std::to_string(server_->port()),
        grpc::InsecureChannelCredentials(), arguments);
    stub_ = v1::Inference::NewStub(channel_);
    models_ = v1::Models::NewStub(channel_);
  }

  // A context whose deadline keeps a failing test from hanging.
  static std::unique_ptr<grpc::ClientContext> Context() {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(30));
    return context;
  }

  grpc::Status Translate(const v1::TranslateRequest& request,
                         v1::TranslateResponse* response) {
    return stub_->Translate(Context().get(), request, response);
  }

  static v1::TranslateRequest TextsRequest(
      const std::vector<std::string>& texts) {
    v1::TranslateRequest request;
    for (const std::string& text : texts) request.add_inputs()->set_text(text);
    return request;
  }

  // The field of the status's google.rpc.BadRequest, or "".
  static std::string BadField(const grpc::Status& status) {
    google::rpc::BadRequest bad;
    const google::rpc::Status details = Details(status);
    for (const auto& any : details.details()) {
      if (any.UnpackTo(&bad) && bad.field_violations_size() == 1) {
        return bad.field_violations(0).field();
      }
    }
    return "";
  }

  static google::rpc::Status Details(const grpc::Status& status) {
    google::rpc::Status details;
    details.ParseFromString(status.error_details());
    return details;
  }

  static std::string Trailer(const grpc::ClientContext& context,
                             const std::string& key) {
    const auto& trailers = context.GetServerTrailingMetadata();
    const auto entry = trailers.find(key);
    return entry == trailers.end()
               ? ""
               : std::string(entry->second.data(), entry->second.size());
  }

  // Sends hand-made bytes to a unary call.
  grpc::Status SendBytes(const std::string& method, const std::string& bytes) {
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    const auto context = Context();
    std::promise<grpc::Status> done;
    grpc::GenericStub(channel_).UnaryCall(
        context.get(), method, grpc::StubOptions(), &request, &response,
        [&done](grpc::Status status) { done.set_value(std::move(status)); });
    return done.get_future().get();
  }

  Server::Options options_;
  int64_t result_cache_bytes_ = 0;
  PuppetBatcher* batcher_ = nullptr;
  Metrics* metrics_ = nullptr;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Inference::Stub> stub_;
  std::unique_ptr<v1::Models::Stub> models_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_TRANSPORTS_GRPC_RPC_FIXTURE_H_
