#include "server/transports/http/metrics_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/error_texts.h"
#include "tests/support/http_get.h"

namespace trivium {
namespace {

using testing::HasSubstr;

class MetricsServerTest : public testing::Test {
 protected:
  void Start(absl::Duration timeout = absl::Seconds(60)) {
    auto server = MetricsServer::Create({"127.0.0.1", 0, timeout}, &metrics_,
                                        [this] { return ready_.load(); });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  int Status(const std::string& path) {
    return HttpGet(server_->port(), path).status;
  }
  HttpResult Send(const std::string& request) {
    HttpSocket socket(server_->port());
    socket.Send(request);
    return ParseHttpResult(socket.Receive());
  }
  void ExpectProbesAnswered() {
    EXPECT_EQ(Status("/healthz"), 200);
    EXPECT_EQ(Status("/readyz"), 200);
    EXPECT_EQ(Status("/metrics"), 200);
  }
  // Returns how many bytes the server takes before it closes the connection.
  size_t SendUntilClosed(const std::string& first, const std::string& again) {
    HttpSocket socket(server_->port());
    size_t sent = 0;
    if (!socket.Send(first)) return sent;
    while (sent < kEndless && socket.Send(again)) sent += again.size();
    return sent;
  }

  // More than the sockets' buffers hold.
  static constexpr size_t kEndless = 64 << 20;

  Metrics metrics_{1};
  std::atomic<bool> ready_ = true;
  std::unique_ptr<MetricsServer> server_;
};

// Returns this process's resident bytes.
size_t Resident() {
  size_t total = 0;
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> total >> pages;
  return pages * 4096;
}

TEST_F(MetricsServerTest, ServesMetricsAndProbes) {
  Start();
  ready_ = false;
  EXPECT_EQ(Status("/readyz"), 503);
  ready_ = true;
  EXPECT_EQ(Status("/readyz"), 200);
  EXPECT_EQ(Status("/healthz?verbose=1"), 200);
  EXPECT_EQ(Status("/"), 404);
  const HttpResult page = HttpGet(server_->port(), "/metrics");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.headers, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(page.headers,
              HasSubstr("Content-Length: " + std::to_string(page.body.size())));
  EXPECT_THAT(page.body, HasSubstr("# TYPE trivium_"));
}

TEST_F(MetricsServerTest, ServesOldAndHandWrittenRequests) {
  Start();
  EXPECT_EQ(Send("GET /healthz HTTP/1.0\r\n\r\n").body, "ok\n");
  EXPECT_EQ(Send("GET /healthz HTTP/1.1\n\n").body, "ok\n");
  const HttpResult head = Send("HEAD /healthz HTTP/1.1\r\n\r\n");
  EXPECT_THAT(head.headers, HasSubstr("Content-Length: 3"));
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(Send("POST /healthz HTTP/1.1\r\n\r\n").status, 405);
}

// libmicrohttpd answers 400 or 505, or ends the connection without an answer.
TEST_F(MetricsServerTest, RefusesRequestsThatAreNotHttp1) {
  Start();
  for (const char* bad :
       {"GET\r\n\r\n", "GET /healthz\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
        " /healthz HTTP/1.1\r\n\r\n", "GET /healthz HTTP/2.0\r\n\r\n",
        "GET /healthz x HTTP/1.1\r\n\r\n", "\x16\x03\x01\n\n"}) {
    EXPECT_NE(Send(bad).status, 200) << bad;
  }
  ExpectProbesAnswered();
}

TEST_F(MetricsServerTest, AnswersARequestThatComesByteByByte) {
  Start();
  HttpSocket socket(server_->port());
  for (const char byte : std::string("GET /healthz HTTP/1.1\r\nA: b\r\n\r\n")) {
    ASSERT_TRUE(socket.Send(std::string(1, byte)));
  }
  EXPECT_EQ(ParseHttpResult(socket.Receive()).body, "ok\n");
}

// Each client holds its connection open with a request that never ends.
TEST_F(MetricsServerTest, DrippingClientsHoldUpNobody) {
  for (const int count : {4, 64, 200}) {
    Start();
    std::vector<HttpSocket> drips;
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(drips.emplace_back(server_->port()).connected());
      drips.back().Send(i % 2 == 0 ? "GET /metrics HTTP/1.1\r\nX: " : "");
    }
    for (int round = 0; round < 3; ++round) {
      ExpectProbesAnswered();
      for (HttpSocket& drip : drips) drip.Send("x");
    }
    ExpectProbesAnswered();
  }
}

// These clients send requests and do not read the answers.
TEST_F(MetricsServerTest, ClientsThatDoNotReadHoldUpNobody) {
  Start();
  std::vector<HttpSocket> deaf;
  for (int i = 0; i < 100; ++i) {
    deaf.emplace_back(server_->port())
        .Send("GET /metrics HTTP/1.1\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n");
  }
  ExpectProbesAnswered();
}

TEST_F(MetricsServerTest, EndsRequestsThatAreSentTooSlowly) {
  Start(absl::Milliseconds(50));
  HttpSocket silent(server_->port());
  HttpSocket slow(server_->port());
  slow.Send("GET /metrics HTTP/1.1\r\nX: ");
  // The server ends both connections; otherwise this would wait.
  EXPECT_EQ(silent.Receive(), "");
  EXPECT_EQ(slow.Receive(), "");
}

TEST_F(MetricsServerTest, HeadersWithoutEndAreCutOff) {
  Start();
  ExpectProbesAnswered();
  const size_t before = Resident();
  const std::string line = "X: " + std::string(1000, 'x') + "\r\n";
  EXPECT_LT(SendUntilClosed("GET /metrics HTTP/1.1\r\n", line), kEndless);
  EXPECT_LT(SendUntilClosed("GET /", std::string(1000, 'x')), kEndless);
  EXPECT_LT(SendUntilClosed("", std::string(1000, '\n')), kEndless);
  EXPECT_LT(Resident(), before + (16 << 20));
  EXPECT_EQ(Send("GET / HTTP/1.1\r\nX: " + std::string(9000, 'x')).status, 431);
  ExpectProbesAnswered();
}

TEST_F(MetricsServerTest, BodiesAreNotRead) {
  Start();
  const size_t before = Resident();
  const std::string headers =
      " /healthz HTTP/1.1\r\nContent-Length: 1000000000000\r\n\r\n";
  const std::string chunked =
      "GET /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(Send("GET" + headers + "body").status, 200);
  EXPECT_EQ(Send("POST" + headers + "body").status, 405);
  EXPECT_EQ(Send(chunked + "ffffffff\r\nbody").status, 200);
  const std::string body(1000, 'x');
  EXPECT_LT(SendUntilClosed("GET" + headers, body), kEndless);
  EXPECT_LT(SendUntilClosed("POST" + headers, body), kEndless);
  EXPECT_LT(SendUntilClosed(chunked, body), kEndless);
  EXPECT_LT(Resident(), before + (16 << 20));
  ExpectProbesAnswered();
}

TEST_F(MetricsServerTest, StopsWhileClientsAreConnected) {
  Start();
  HttpSocket silent(server_->port());
  ExpectProbesAnswered();
  server_ = nullptr;
  EXPECT_EQ(silent.Receive(), "");
}

TEST_F(MetricsServerTest, NamesAPortThatIsTaken) {
  Start();
  const int port = server_->port();
  const auto second = MetricsServer::Create({"127.0.0.1", port}, &metrics_,
                                            [] { return true; });
  EXPECT_THAT(second.status(),
              IsError(absl::StatusCode::kUnavailable, "--metrics-listen"));
}

}  // namespace
}  // namespace trivium
