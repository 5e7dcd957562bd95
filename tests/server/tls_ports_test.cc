// The server's ports with TLS, and real clients.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <string>

#include "server/startup.h"
#include "tests/server/transports/grpc/rpc_fixture.h"
#include "tests/server/transports/net/authority.h"
#include "tests/server/transports/net/tls_client.h"
#include "tests/support/error_texts.h"
#include "tests/support/http_get.h"

namespace trivium {
namespace {

using testing::HasSubstr;
using Code = absl::StatusCode;

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class TlsPortsTest : public RpcTest {
 protected:
  void SetUp() override {
    options_.http_listen = options_.metrics_listen = "127.0.0.1:0";
    StartServer();
  }
  void AddParts(Server::Parts* parts) override {
    parts->tls = *TlsCredentials::Load(files_);
  }

  grpc::Status Translate(const TlsClient::Options& with) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = Contents(with.ca);
    if (!with.certificate.empty()) {
      options.pem_cert_chain = Contents(with.certificate);
      options.pem_private_key = Contents(with.key);
    }
    grpc::ChannelArguments arguments;
    arguments.SetInt("grpc.use_local_subchannel_pool", 1);
    const auto stub = v1::Inference::NewStub(grpc::CreateCustomChannel(
        "localhost:" + std::to_string(server_->port()),
        grpc::SslCredentials(options), arguments));
    v1::TranslateResponse response;
    return stub->Translate(Context().get(), TextsRequest({"abc"}), &response);
  }
  HttpResult Send(int port, const std::string& request,
                  const TlsClient::Options& with) {
    TlsClient client(port, with);
    client.Send(request);
    return ParseHttpResult(client.ReceiveAll());
  }
  HttpResult Post(const TlsClient::Options& with) {
    return Send(server_->http_port(),
                PostText("/trivium.v1.Inference/Translate",
                         R"({"inputs":[{"text":"abc"}]})"),
                with);
  }
  HttpResult GetReady(const TlsClient::Options& with) {
    return Send(server_->metrics_port(),
                "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n", with);
  }

  const Authority authority_{"authority"};
  TlsCredentials::Files files_ = authority_.Issue("server");
  const TlsClient::Options trusting_ = {.ca = authority_.file()};
};

TEST_F(TlsPortsTest, ServesGrpcAndHttp) {
  const grpc::Status status = Translate(trusting_);
  EXPECT_TRUE(status.ok()) << status.error_message();
  const HttpResult answer = Post(trusting_);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("abc"));
  // Probes and Prometheus stay as they are.
  EXPECT_EQ(HttpGet(server_->metrics_port(), "/readyz").status, 200);
  // Without TLS, and of another authority.
  v1::TranslateResponse response;
  EXPECT_EQ(RpcTest::Translate(TextsRequest({"abc"}), &response).error_code(),
            grpc::UNAVAILABLE);
  EXPECT_EQ(HttpGet(server_->http_port(), "/health").status, 0);
  EXPECT_FALSE(Translate({.ca = Authority("stranger").file()}).ok());
}

TEST_F(TlsPortsTest, AsksForCertificates) {
  files_.client_ca = authority_.file();
  options_.metrics_tls = true;
  StartServer();
  EXPECT_FALSE(Translate(trusting_).ok());
  EXPECT_EQ(Post(trusting_).status, 0);
  EXPECT_EQ(GetReady(trusting_).status, 0);
  const TlsCredentials::Files files = authority_.Issue("client");
  TlsClient::Options with = trusting_;
  with.certificate = files.certificate;
  with.key = files.key;
  const grpc::Status status = Translate(with);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(Post(with).status, 200);
  // The server asks its own port.
  EXPECT_EQ(GetReady(with).status, 200);
  EXPECT_TRUE(server_->Drain());
}

TEST_F(TlsPortsTest, CancelsTheCallOfAClientThatLeaves) {
  batcher_->Hold();
  {
    TlsClient client(server_->http_port(), trusting_);
    client.Send(PostText("/trivium.v1.Inference/Translate",
                         R"({"inputs":[{"text":"abc"}]})"));
    batcher_->WaitForSubmitted(1);
  }
  batcher_->WaitForDropped(1);
  batcher_->Release();
}

TEST_F(TlsPortsTest, RefusesToStartWithBadFiles) {
  Options options;
  options.models = {{.name = "nothing", .folder = "nowhere"}};
  const auto start = [&options] {
    return trivium::StartServer(options).status();
  };
  EXPECT_THAT(start(), IsError(Code::kInvalidArgument, "nowhere"));
  // Before models are read.
  options.audit_log = "nowhere/audit.log";
  EXPECT_THAT(start(), IsError(Code::kUnavailable, "audit.log"));
  options.tokens_file = "nowhere/tokens.json";
  EXPECT_THAT(start(), IsError(Code::kNotFound, "tokens.json"));
  options.tls = authority_.Issue("old", -10, -1);
  // The text has a date, so it cannot be in the file of error texts.
  EXPECT_EQ(start().code(), Code::kInvalidArgument);
  EXPECT_THAT(start().message(), HasSubstr("old.pem"));
}

TEST(TlsFlagsTest, FlagsWithoutEffectAreErrors) {
  const auto is_error_at = [](const char* place) {
    return IsError(Code::kInvalidArgument, place);
  };
  Options options;
  options.metrics_tls = true;
  EXPECT_THAT(StartServer(options), is_error_at("--metrics-tls"));
  options.metrics_tls = false;
  options.tls.client_ca = "ca.pem";
  EXPECT_THAT(StartServer(options), is_error_at("--tls-client-ca"));
  options.tls.certificate = "server.pem";
  EXPECT_THAT(StartServer(options), is_error_at("--tls-key"));
}

}  // namespace
}  // namespace trivium
