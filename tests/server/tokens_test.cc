// A server that wants tokens, over gRPC and HTTP.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "kserve/open_inference.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "server/limits/access.h"
#include "server/startup.h"
#include "tests/server/transports/grpc/rpc_fixture.h"
#include "tests/support/error_texts.h"
#include "tests/support/http_get.h"

namespace trivium {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kToken[] = "a-token-of-somebody-who-may-call";
constexpr char kLater[] = "a-token-of-somebody-who-has-time";
constexpr char kDeploy[] = "a-token-of-somebody-who-may-order";
constexpr char kLimited[] = "a-token-of-somebody-with-limits";

// An entry of the tokens file.
std::string Entry(const char* token, const std::string& name,
                  const std::string& more) {
  std::string entry = *TokenEntry(token);
  entry.replace(entry.find("..."), 3, name);
  entry.replace(entry.rfind('}'), 1, more + "}");
  return entry;
}

class TokensTest : public RpcTest {
 protected:
  void SetUp() override {
    std::ofstream(tokens_file_)
        << R"({"tokens": [)" << Entry(kToken, "any", R"(, "orders": true)")
        << ","
        << Entry(kDeploy, "deploy",
                 R"(, "models": ["encoder"], "orders": true)")
        << ","
        << Entry(kLimited, "limited",
                 R"(, "models": ["encoder"], "rate": 0.001, "burst": 2)")
        << "," << Entry(kLater, "later", R"(, "priority": "batch")") << "]}";
    options_.http_listen = "127.0.0.1:0";
    options_.http_metrics = true;
    StartServer();
  }
  TokensTest() {
    tokens_file_ =
        testing::TempDir() + "/tokens_test" + std::to_string(getpid());
  }
  ~TokensTest() override { std::filesystem::remove(tokens_file_); }
  void AddParts(Server::Parts* parts) override {
    parts->access = *Access::Load(tokens_file_);
    if (!audit_log_.empty()) parts->audit = *AuditLog::Open(audit_log_);
  }

  static std::unique_ptr<grpc::ClientContext> With(const std::string& token) {
    auto context = Context();
    if (!token.empty()) {
      context->AddMetadata("authorization", "Bearer " + token);
    }
    return context;
  }
  grpc::Status Translate(const std::string& token) {
    v1::TranslateResponse response;
    return stub_->Translate(With(token).get(), TextsRequest({"abc"}),
                            &response);
  }
  HttpResult Post(const std::string& headers) {
    return HttpPost(server_->http_port(), "/trivium.v1.Inference/Translate",
                    R"({"inputs":[{"text":"abc"}]})",
                    "Content-Type: application/json\r\n" + headers);
  }

  std::string tokens_file_;
  std::string audit_log_;  // empty: none
};

TEST_F(TokensTest, MetricsOnTheApisPortNeedAToken) {
  const auto get = [this](const std::string& header) {
    HttpSocket socket(server_->http_port());
    socket.Send("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
                header + "\r\n");
    return ParseHttpResult(socket.Receive());
  };
  EXPECT_EQ(get("").status, 401);
  const HttpResult answer =
      get(std::string("Authorization: Bearer ") + kLimited + "\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("# TYPE trivium_"));
}

TEST_F(TokensTest, RefusesGrpcCallsWithoutAToken) {
  // Again and again: the relay answers those after a connection's first.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Translate("").error_code(), grpc::UNAUTHENTICATED);
    EXPECT_EQ(Translate("a-token-of-nobody").error_code(),
              grpc::UNAUTHENTICATED);
    const grpc::Status status = Translate(kToken);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  auto context = With("a-token-of-nobody");
  v1::TranslateStreamResponse response;
  auto stream = stub_->TranslateStream(context.get());
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::UNAUTHENTICATED);
  v1::ListModelsResponse models;
  EXPECT_EQ(models_->ListModels(With("").get(), {}, &models).error_code(),
            grpc::UNAUTHENTICATED);
  // Whatever a client calls itself.
  context = Context();
  context->AddMetadata("trivium-expected", "1");
  v1::TranslateResponse translated;
  EXPECT_EQ(stub_->Translate(context.get(), TextsRequest({"abc"}), &translated)
                .error_code(),
            grpc::UNAUTHENTICATED);
}

TEST_F(TokensTest, RefusesHttpRequestsWithoutAToken) {
  EXPECT_EQ(
      Post("Authorization: Bearer " + std::string(kToken) + "\r\n").status,
      200);
  const HttpResult none = Post("");
  EXPECT_EQ(none.status, 401);
  EXPECT_THAT(none.headers, HasSubstr("WWW-Authenticate: Bearer"));
  EXPECT_EQ(nlohmann::json::parse(none.body)["code"], "unauthenticated");
  EXPECT_EQ(Post("Authorization: Bearer wrong\r\n").status, 401);
  // Anthropic's clients send a header of their own. It counts only without
  // Authorization.
  const std::string key = "x-api-key: " + std::string(kToken) + "\r\n";
  EXPECT_EQ(Post(key).status, 200);
  EXPECT_EQ(Post("x-api-key: wrong\r\n").status, 401);
  EXPECT_EQ(Post("x-api-key: Bearer " + std::string(kToken) + "\r\n").status,
            401);
  EXPECT_EQ(Post(key + "Authorization: Bearer wrong\r\n").status, 401);
  const HttpResult message =
      HttpPost(server_->http_port(), "/v1/messages", "{}");
  EXPECT_EQ(message.status, 401);
  EXPECT_EQ(nlohmann::json::parse(message.body)["error"]["type"],
            "authentication_error");
  EXPECT_EQ(HttpGet(server_->http_port(), "/v1/models").status, 401);
  // The only model that it may use does not translate.
  EXPECT_EQ(
      Post("Authorization: Bearer " + std::string(kLimited) + "\r\n").status,
      400);
}

TEST_F(TokensTest, RequiresATokenForReflectionButNotForHealth) {
  namespace reflection = grpc::reflection::v1;
  const auto stub = reflection::ServerReflection::NewStub(channel_);
  const auto ask = [&](const std::string& token) {
    auto context = With(token);
    auto stream = stub->ServerReflectionInfo(context.get());
    reflection::ServerReflectionRequest request;
    request.set_list_services("");
    stream->Write(request);
    stream->WritesDone();
    reflection::ServerReflectionResponse response;
    while (stream->Read(&response)) {
    }
    return stream->Finish().error_code();
  };
  EXPECT_EQ(ask(""), grpc::UNAUTHENTICATED);
  EXPECT_EQ(ask(kToken), grpc::OK);
  grpc::health::v1::HealthCheckResponse health;
  EXPECT_TRUE(grpc::health::v1::Health::NewStub(channel_)
                  ->Check(Context().get(), {}, &health)
                  .ok());
  EXPECT_EQ(HttpGet(server_->http_port(), "/health").status, 200);
}

TEST_F(TokensTest, RequiresATokenForHealthIfTold) {
  using grpc::health::v1::HealthCheckResponse;
  options_.open_health = false;
  StartServer();
  const auto health = grpc::health::v1::Health::NewStub(channel_);
  const auto kserve = inference::GRPCInferenceService::NewStub(channel_);
  HealthCheckResponse status;
  inference::ServerReadyResponse ready;
  for (const char* token : {"", "a-token-of-nobody"}) {
    EXPECT_EQ(health->Check(With(token).get(), {}, &status).error_code(),
              grpc::UNAUTHENTICATED);
    const auto context = With(token);
    const auto watch = health->Watch(context.get(), {});
    EXPECT_FALSE(watch->Read(&status));
    EXPECT_EQ(watch->Finish().error_code(), grpc::UNAUTHENTICATED);
    EXPECT_EQ(kserve->ServerReady(With(token).get(), {}, &ready).error_code(),
              grpc::UNAUTHENTICATED);
  }
  EXPECT_TRUE(health->Check(With(kToken).get(), {}, &status).ok());
  EXPECT_EQ(status.status(), HealthCheckResponse::SERVING);
  const auto context = With(kToken);
  const auto watch = health->Watch(context.get(), {});
  EXPECT_TRUE(watch->Read(&status));
  EXPECT_EQ(status.status(), HealthCheckResponse::SERVING);
  context->TryCancel();
  watch->Finish();
  EXPECT_TRUE(kserve->ServerReady(With(kToken).get(), {}, &ready).ok());
  EXPECT_TRUE(ready.ready());
  EXPECT_EQ(HttpGet(server_->http_port(), "/health").status, 401);
  HttpSocket socket(server_->http_port());
  socket.Send("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
              ("Authorization: Bearer " + std::string(kToken)) + "\r\n\r\n");
  EXPECT_EQ(ParseHttpResult(socket.Receive()).status, 200);
}

TEST_F(TokensTest, AppliesThePriorityOfAToken) {
  EXPECT_TRUE(Translate(kLater).ok());
  EXPECT_EQ(batcher_->submitted().back().priority, Priority::kBackground);
  EXPECT_TRUE(Translate(kToken).ok());
  EXPECT_EQ(batcher_->submitted().back().priority, Priority::kInteractive);
  const std::string token = std::string("Authorization: Bearer ") + kLater;
  EXPECT_EQ(Post(token + "\r\nTrivium-Priority: interactive\r\n").status, 200);
  EXPECT_EQ(batcher_->submitted().back().priority, Priority::kBackground);
}

TEST_F(TokensTest, AllowsOnlyTheModelsOfAToken) {
  v1::ListModelsResponse models;
  ASSERT_TRUE(models_->ListModels(With(kLimited).get(), {}, &models).ok());
  ASSERT_EQ(models.models_size(), 1);
  EXPECT_EQ(models.models(0).name(), "encoder");
}

// What a token may not use is answered like what is not there.
TEST_F(TokensTest, NamesOnlyTheModelsOfATokenInErrors) {
  const auto message_for = [&](const std::string& name) {
    v1::TranslateRequest request = TextsRequest({"abc"});
    request.set_model(name);
    v1::TranslateResponse response;
    const grpc::Status status =
        stub_->Translate(With(kDeploy).get(), request, &response);
    EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
    std::string message = status.error_message();
    message = message.substr(0, message.find(" (request"));
    const size_t at = message.find(name);
    EXPECT_NE(at, message.npos);
    return message.replace(at, name.size(), "NAME");
  };
  const std::string forbidden = message_for("translator");
  EXPECT_EQ(forbidden, message_for("absent"));
  EXPECT_THAT(forbidden, HasSubstr("encoder"));

  const auto kserve = inference::GRPCInferenceService::NewStub(channel_);
  inference::ModelInferRequest infer;
  infer.set_model_name("absent");
  inference::ModelInferResponse inferred;
  const grpc::Status status =
      kserve->ModelInfer(With(kDeploy).get(), infer, &inferred);
  EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
  EXPECT_THAT(status.error_message(), Not(HasSubstr("translator")));
  infer.set_model_name("translator");
  EXPECT_EQ(
      kserve->ModelInfer(With(kDeploy).get(), infer, &inferred).error_code(),
      grpc::NOT_FOUND);

  HttpSocket socket(server_->http_port());
  const std::string body =
      R"({"model": "absent", "messages": [{"role": "user", "content": "a"}]})";
  socket.Send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
      "Connection: close\r\nContent-Type: application/json\r\n"
      "Authorization: Bearer " +
      std::string(kDeploy) +
      "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  const HttpResult chat = ParseHttpResult(socket.Receive());
  EXPECT_EQ(chat.status, 404);
  EXPECT_THAT(chat.body, Not(HasSubstr("translator")));
}

TEST_F(TokensTest, ACallThatNamesNoModelGetsAnAllowedOne) {
  v1::EncodeRequest request;
  request.add_inputs()->set_text("abc");
  v1::EncodeResponse response;
  const grpc::Status status =
      stub_->Encode(With(kDeploy).get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

// A short wait shows that a text is in a cache.
TEST_F(TokensTest, ATokensCacheIsItsOwn) {
  EXPECT_TRUE(Translate(kToken).ok());
  const std::string salt = batcher_->submitted().back().salt;
  EXPECT_TRUE(Translate(kLater).ok());
  EXPECT_NE(batcher_->submitted().back().salt, salt);
  EXPECT_TRUE(Translate(kToken).ok());
  EXPECT_EQ(batcher_->submitted().back().salt, salt);
}

TEST_F(TokensTest, LimitsKservesStatisticsToTheModelsOfAToken) {
  const auto kserve = inference::GRPCInferenceService::NewStub(channel_);
  inference::ModelStatisticsRequest request;
  inference::ModelStatisticsResponse response;
  ASSERT_TRUE(
      kserve->ModelStatistics(With(kLimited).get(), request, &response).ok());
  ASSERT_EQ(response.model_stats_size(), 1);
  EXPECT_EQ(response.model_stats(0).name(), "encoder");
  request.set_name("translator");
  EXPECT_EQ(kserve->ModelStatistics(With(kLimited).get(), request, &response)
                .error_code(),
            grpc::NOT_FOUND);
}

TEST_F(TokensTest, LimitsTheRateOfAToken) {
  v1::ListModelsResponse models;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(models_->ListModels(With(kLimited).get(), {}, &models).ok());
  }
  auto context = With(kLimited);
  EXPECT_EQ(models_->ListModels(context.get(), {}, &models).error_code(),
            grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(
      context->GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1u);
  EXPECT_TRUE(Translate(kToken).ok());
}

TEST_F(TokensTest, RefusesOrdersWithoutPermission) {
  v1::Model model;
  v1::LoadModelRequest request;
  request.set_folder("m");
  EXPECT_EQ(
      models_->LoadModel(With(kLimited).get(), request, &model).error_code(),
      grpc::PERMISSION_DENIED);
  // May order; this server takes none.
  EXPECT_EQ(
      models_->LoadModel(With(kToken).get(), request, &model).error_code(),
      grpc::FAILED_PRECONDITION);
}

TEST_F(TokensTest, OrdersAreForTheModelsOfAToken) {
  v1::Model model;
  const auto load = [&](const std::string& folder, const std::string& name) {
    v1::LoadModelRequest request;
    request.set_folder(folder);
    request.set_name(name);
    return models_->LoadModel(With(kDeploy).get(), request, &model)
        .error_code();
  };
  EXPECT_EQ(load("m", ""), grpc::PERMISSION_DENIED);
  EXPECT_EQ(load("encoder", "m"), grpc::PERMISSION_DENIED);
  // Otherwise any model could be used under an allowed name.
  EXPECT_EQ(load("m", "encoder"), grpc::PERMISSION_DENIED);
  // May be ordered; this server takes no orders.
  EXPECT_EQ(load("encoder", "encoder"), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(load("a/encoder//", ""), grpc::FAILED_PRECONDITION);
  v1::UnloadModelRequest request;
  v1::UnloadModelResponse response;
  request.set_name("translator");
  EXPECT_EQ(models_->UnloadModel(With(kDeploy).get(), request, &response)
                .error_code(),
            grpc::NOT_FOUND);
  request.set_name("encoder");
  EXPECT_EQ(models_->UnloadModel(With(kDeploy).get(), request, &response)
                .error_code(),
            grpc::FAILED_PRECONDITION);
}

TEST_F(TokensTest, AuditsCallsWithoutTheirTexts) {
  audit_log_ = tokens_file_ + ".audit";
  StartServer();
  v1::TranslateResponse response;
  EXPECT_TRUE(stub_
                  ->Translate(With(kToken).get(), TextsRequest({"xyz", "de"}),
                              &response)
                  .ok());
  EXPECT_FALSE(Translate("").ok());
  server_.reset();
  std::ifstream file(audit_log_);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::filesystem::remove(audit_log_);
  EXPECT_THAT(text, HasSubstr(R"("client":"any","peer":"ipv4:127.0.0.1:)"));
  EXPECT_THAT(text,
              HasSubstr(R"("call":"Translate","model":"translator",)"
                        R"("status":"OK","results":2,"source_tokens":7)"));
  EXPECT_THAT(text, HasSubstr(R"("status":"UNAUTHENTICATED")"));
  EXPECT_THAT(text, Not(HasSubstr("xyz")));  // as no id in hexadecimal has
  EXPECT_THAT(text, Not(HasSubstr(kToken)));
}

TEST(TokensFlagsTest, RefusesAClientKeyBesideTokens) {
  Options options;
  options.tokens_file = "tokens.json";
  options.limits.client_key_header = "x-api-key";
  EXPECT_THAT(StartServer(options), IsError(absl::StatusCode::kInvalidArgument,
                                            "--client-key-header"));
}

TEST(TokensFlagsTest, RefusesATokenForHealthWithoutATokensFile) {
  Options options;
  options.open_health = false;
  EXPECT_THAT(StartServer(options),
              IsError(absl::StatusCode::kInvalidArgument, "--health"));
}

}  // namespace
}  // namespace trivium
