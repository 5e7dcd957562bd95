// The server as others see it: health, reflection, metrics, stopping.
#include "server/server.h"

#include <gmock/gmock.h>

#include <thread>

#include "grpc/health/v1/health.grpc.pb.h"
#include "server/startup.h"
#include "tests/server/transports/grpc/rpc_fixture.h"
#include "tests/support/error_texts.h"
#include "tests/support/http_get.h"

namespace trivium {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using testing::HasSubstr;

class ServerTest : public RpcTest {
 protected:
  void SetUp() override {
    options_.metrics_listen = "127.0.0.1:0";
    StartServer();
  }

  HealthCheckResponse::ServingStatus Health(const std::string& service) {
    auto stub = grpc::health::v1::Health::NewStub(channel_);
    HealthCheckRequest request;
    request.set_service(service);
    HealthCheckResponse response;
    const grpc::Status status =
        stub->Check(Context().get(), request, &response);
    return status.ok() ? response.status()
                       : HealthCheckResponse::SERVICE_UNKNOWN;
  }

  // The parts of another server.
  static Server::Parts SomeParts() {
    Server::Parts parts;
    parts.models.push_back(ServedPuppet("m"));
    parts.metrics = std::make_unique<Metrics>(1);
    parts.batcher = std::make_unique<PuppetBatcher>();
    return parts;
  }

  HttpResult Get(const char* path) {
    return HttpGet(server_->metrics_port(), path);
  }
};

TEST_F(ServerTest, ReportsTheHealthOfEachService) {
  for (const char* service :
       {"", "trivium.v1.Inference", "trivium.v1.Models"}) {
    EXPECT_EQ(Health(service), HealthCheckResponse::SERVING) << service;
  }
  EXPECT_EQ(Health("nobody"), HealthCheckResponse::SERVICE_UNKNOWN);
}

TEST_F(ServerTest, WatchersOfHealthAreToldOfTheStop) {
  const auto stub = grpc::health::v1::Health::NewStub(channel_);
  HealthCheckRequest request;
  HealthCheckResponse response;
  const auto known_context = Context(), unknown_context = Context();
  const auto known = stub->Watch(known_context.get(), request);
  ASSERT_TRUE(known->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  request.set_service("nobody");
  const auto unknown = stub->Watch(unknown_context.get(), request);
  ASSERT_TRUE(unknown->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  std::thread drain([this] { server_->Drain(); });
  ASSERT_TRUE(known->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  // The streams end with the server, which waits for none.
  EXPECT_FALSE(known->Read(&response));
  EXPECT_FALSE(unknown->Read(&response));
  drain.join();
}

TEST_F(ServerTest, IsNotReadyWhileAStepDoesNotReturn) {
  const ModelHandle model = ServedPuppet("m");
  batcher_->Stall(*model, /*returned=*/false);
  EXPECT_EQ(Health(""), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_EQ(Get("/healthz").status, 200);
  // Other models go on.
  v1::TranslateResponse response;
  EXPECT_TRUE(Translate(TextsRequest({"abc"}), &response).ok());
  batcher_->Stall(*model, /*returned=*/true);
  EXPECT_EQ(Health(""), HealthCheckResponse::SERVING);
  EXPECT_EQ(Get("/readyz").status, 200);
}

TEST_F(ServerTest, CountsCallsInMetrics) {
  v1::TranslateResponse response;
  ASSERT_TRUE(Translate(TextsRequest({"abc"}), &response).ok());
  Translate(v1::TranslateRequest(), &response);
  const HttpResult page = Get("/metrics");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.headers, HasSubstr("0.0.4"));
  EXPECT_THAT(page.body, HasSubstr("trivium_requests_total{code=\"OK\",model="
                                   "\"translator\",rpc=\"Translate\"} 1"));
  EXPECT_THAT(page.body, HasSubstr("code=\"INVALID_ARGUMENT\""));
  EXPECT_THAT(page.body, HasSubstr("trivium_tokens_total{kind=\"source\",model="
                                   "\"translator\"} 4"));
  EXPECT_THAT(page.body,
              HasSubstr("trivium_requests_in_flight{rpc=\"Translate\"} 0"));
  EXPECT_EQ(Get("/healthz").status, 200);
  EXPECT_EQ(Get("/readyz").status, 200);
  EXPECT_EQ(Get("/nothing").status, 404);
}

TEST_F(ServerTest, DrainReportsNotServingFirstAndFinishesRunningCalls) {
  batcher_->Hold();
  grpc::Status status;
  std::thread client([&] {
    v1::TranslateResponse response;
    status = Translate(TextsRequest({"abc"}), &response);
  });
  batcher_->WaitForSubmitted(1);
  std::thread drain([this] { EXPECT_TRUE(server_->Drain()); });
  while (Health("trivium.v1.Inference") == HealthCheckResponse::SERVING) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_EQ(Get("/healthz").status, 200);
  batcher_->Release();
  drain.join();
  client.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(ServerTest, DrainCancelsCallsThatTakeTooLong) {
  options_.drain_timeout = absl::Milliseconds(20);
  StartServer();
  batcher_->Hold();
  grpc::Status status;
  std::thread client([&] {
    v1::TranslateResponse response;
    status = Translate(TextsRequest({"abc"}), &response);
  });
  batcher_->WaitForSubmitted(1);
  EXPECT_FALSE(server_->Drain());
  client.join();
  EXPECT_EQ(status.error_code(), grpc::UNAVAILABLE);
}

TEST_F(ServerTest, RefusesRequestsWithoutMemory) {
  options_.memory_bytes = 1;
  StartServer();
  v1::TranslateResponse response;
  const grpc::Status status = Translate(TextsRequest({"abc"}), &response);
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), ErrorAt("memory"));
  const std::string page = Get("/metrics").body;
  EXPECT_THAT(page, HasSubstr("trivium_overload_stage 3"));
  EXPECT_THAT(page, HasSubstr("trivium_memory_limit_bytes 1\n"));
  EXPECT_THAT(
      page, HasSubstr("trivium_overload_actions_total{action=\"refused\"} 1"));
}

TEST_F(ServerTest, NamesAPortThatIsTaken) {
  Server::Options options;
  options.listen = "127.0.0.1:" + std::to_string(server_->port());
  EXPECT_THAT(Server::Create(options, SomeParts()),
              IsError(absl::StatusCode::kUnavailable, options.listen));
}

TEST_F(ServerTest, WithoutAFlagThereIsNoHttpWhereItsPortIsTaken) {
  Server::Options options;
  options.listen = "127.0.0.1:0";
  options.http_listen = fmt::format("127.0.0.1:{}", server_->port());
  EXPECT_THAT(Server::Create(options, SomeParts()),
              IsError(absl::StatusCode::kUnavailable, "--http-listen"));
  options.http_if_free = true;
  const auto server = Server::Create(options, SomeParts());
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->http_port(), 0);
}

TEST(StartupTest, NamesTheWrongOptionInErrors) {
  const auto is_error_at = [](const char* place) {
    return IsError(absl::StatusCode::kInvalidArgument, place);
  };
  Options options;
  options.listen = "127.0.0.1:0";
  options.metrics_listen = "";
  options.models = {{"a", "/nowhere", std::nullopt}};
  EXPECT_THAT(StartServer(options),
              testing::AllOf(is_error_at("'a'"), is_error_at("/nowhere")));
  options.model_names.aliases = {{"x", "b"}};
  EXPECT_THAT(StartServer(options),
              testing::AllOf(is_error_at("--model-alias"), is_error_at("'b'")));
  options.model_names.aliases = {{"a", "a"}};
  EXPECT_THAT(StartServer(options), is_error_at("--model-alias a=a"));
  options.model_names.aliases.clear();
  options.models.push_back({"a", "/elsewhere", std::nullopt});
  EXPECT_THAT(StartServer(options), is_error_at("--model"));
  options.weights_cache = "tests/golden/llama.lm/config.json";
  EXPECT_THAT(StartServer(options), is_error_at("--weights-cache"));
  options.weights_cache.clear();
  options.http_listen = "";
  options.cors_origins = {"https://a.example"};
  EXPECT_THAT(StartServer(options), is_error_at("--cors-allow-origin"));
  options.cors_origins.clear();
  options.http_metrics = true;
  EXPECT_THAT(StartServer(options), is_error_at("--http-metrics"));
  options.http_metrics = false;
  options.trace_sample_rate = 0.5;
  EXPECT_THAT(StartServer(options), is_error_at("--trace-sample-rate"));
  options.trace_sample_rate.reset();
  options.trace_ca = "/no/ca.pem";
  options.trace_endpoint = {"http://localhost:4318", "/v1/traces"};
  EXPECT_THAT(StartServer(options), is_error_at("--trace-ca"));
  options.trace_endpoint->origin = "https://localhost:4318";
  EXPECT_THAT(StartServer(options),
              IsError(absl::StatusCode::kNotFound, "/no/ca.pem"));
}

}  // namespace
}  // namespace trivium
