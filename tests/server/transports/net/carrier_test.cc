// The carrier between real clients and tests that act as the server.
#include "server/transports/net/carrier.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <openssl/ssl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "server/transports/net/stream.h"
#include "tests/server/transports/net/authority.h"
#include "tests/server/transports/net/tls_client.h"
#include "tests/support/http_get.h"

namespace trivium {
namespace {

using testing::HasSubstr;

class CarrierTest : public testing::Test {
 protected:
  void Start(CarrierOptions options = {.protocol = &kHttp2Protocol}) {
    auto credentials = TlsCredentials::Load(files_, absl::Hours(1));
    ASSERT_TRUE(credentials.ok()) << credentials.status();
    credentials_ = *std::move(credentials);
    auto acceptor = NewAcceptor("127.0.0.1", 0);
    ASSERT_TRUE(acceptor.ok());
    options.tls = credentials_.get();
    acceptor_ = NewCarrier(options, *std::move(acceptor), &metrics_);
    fcntl(acceptor_->fd(), F_SETFL, 0);  // the tests wait
  }

  int port() const { return PortOf(acceptor_->address()); }
  TlsClient Connect(const TlsClient::Options& options) {
    return TlsClient(port(), options);
  }
  TlsClient Connect() { return Connect(Trusting()); }
  TlsClient::Options Trusting() const { return {.ca = authority_.file()}; }
  // Options of a client with a certificate of `authority`.
  TlsClient::Options Showing(const Authority& authority) const {
    const TlsCredentials::Files files = authority.Issue("client");
    TlsClient::Options options = Trusting();
    options.certificate = files.certificate;
    options.key = files.key;
    return options;
  }

  // Returns the server's end of the next connection.
  UniqueFd Accepted() {
    sockaddr_storage client{};
    UniqueFd socket = acceptor_->Accept(&client);
    fcntl(socket.get(), F_SETFL, 0);  // the tests wait
    client_ = client;
    return socket;
  }
  static void Send(const UniqueFd& socket, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent =
          send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  static std::string Receive(const UniqueFd& socket, size_t bytes) {
    std::string got(bytes, '\0');
    const ssize_t count = recv(socket.get(), got.data(), bytes, MSG_WAITALL);
    got.resize(static_cast<size_t>(std::max<ssize_t>(0, count)));
    return got;
  }
  void ExpectServes(const TlsClient::Options& options) {
    TlsClient client = Connect(options);
    ASSERT_TRUE(client.connected());
    const UniqueFd server = Accepted();
    client.Send("ask");
    EXPECT_EQ(Receive(server, 3), "ask");
    Send(server, "answer");
    EXPECT_EQ(client.Receive(6), "answer");
  }
  void ExpectRefuses(const TlsClient::Options& options) {
    TlsClient client = Connect(options);
    client.Send("ask");
    EXPECT_EQ(client.Receive(1), "");
    EXPECT_THAT(TlsClient::Error(), HasSubstr("alert"));
  }

  const Authority authority_{"authority"};
  TlsCredentials::Files files_ = authority_.Issue("server");
  Metrics metrics_{1};
  std::unique_ptr<TlsCredentials> credentials_;
  std::unique_ptr<Acceptor> acceptor_;
  sockaddr_storage client_{};
};

TEST_F(CarrierTest, CarriesBytesBothWays) {
  Start();
  TlsClient client = Connect();
  ASSERT_TRUE(client.connected());
  const UniqueFd server = Accepted();
  EXPECT_EQ(PortOf(client_), PortOf(client.socket_fd()));
  std::string much(3 << 20, 'x');
  for (size_t i = 0; i < much.size(); i += 1000) much[i] = static_cast<char>(i);
  std::thread writer([&] { Send(server, much); });
  // Both directions at once: the carrier waits for neither.
  std::thread reader([&] { EXPECT_EQ(Receive(server, much.size()), much); });
  EXPECT_TRUE(client.Send(much));
  EXPECT_EQ(client.Receive(much.size()), much);
  writer.join();
  reader.join();
}

TEST_F(CarrierTest, ClosesBothSidesWhenOneCloses) {
  Start();
  {
    TlsClient client = Connect();
    UniqueFd server = Accepted();
    client.Send("last");
    client.CloseWrite();
    EXPECT_EQ(Receive(server, 5), "last");
    Send(server, "still");
    EXPECT_EQ(client.Receive(5), "still");
    const std::string last(1 << 20, 'x');
    std::thread writer([&] {
      Send(server, last);
      server = UniqueFd();
    });
    EXPECT_EQ(client.Receive(last.size() + 1), last);
    writer.join();
  }
  UniqueFd server;
  {
    TlsClient client = Connect();
    server = Accepted();
  }
  EXPECT_EQ(Receive(server, 1), "");
}

TEST_F(CarrierTest, AHandshakeThatNeverComesDelaysNobody) {
  Start({.protocol = &kHttp2Protocol,
         .max_handshakes = 4,
         .handshake_timeout = absl::Hours(1)});
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 4; ++i) silent.push_back(TlsClient::Connect(port()));
  ExpectServes(Trusting());
  EXPECT_EQ(Receive(silent.front(), 1), "");  // it was closed to make room
  EXPECT_THAT(
      metrics_.Text(),
      HasSubstr("trivium_connections_ended_total{reason=\"handshake\"} 1"));
}

TEST_F(CarrierTest, EndsASlowHandshake) {
  Start({.protocol = &kHttp2Protocol,
         .handshake_timeout = absl::Milliseconds(20)});
  EXPECT_EQ(Receive(TlsClient::Connect(port()), 1), "");
}

TEST_F(CarrierTest, RefusesBytesThatAreNotTls) {
  Start();
  const UniqueFd client = TlsClient::Connect(port());
  Send(client, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  std::string answer;
  for (std::string piece; !(piece = Receive(client, 1)).empty();) {
    answer += piece;
  }
  EXPECT_LT(answer.size(), 16u);  // an alert at most
  ExpectServes(Trusting());
}

TEST_F(CarrierTest, RefusesOldVersionsAndOtherProtocols) {
  Start();
  TlsClient::Options options = Trusting();
  options.most_version = TLS1_1_VERSION;
  EXPECT_FALSE(Connect(options).connected());
  options.most_version = TLS1_2_VERSION;
  ExpectServes(options);
  options.protocol = "\x08http/1.1";
  EXPECT_FALSE(Connect(options).connected());
  options.protocol = "\x08http/1.1\x02h2";
  ExpectServes(options);
}

TEST_F(CarrierTest, DemandsACertificateOfTheAuthority) {
  files_.client_ca = authority_.file();
  Start();
  ExpectServes(Showing(authority_));
  ExpectRefuses(Trusting());
  const Authority stranger("stranger");
  ExpectRefuses(Showing(stranger));
  const TlsCredentials::Files old = authority_.Issue("old", -10, -1);
  TlsClient::Options expired = Trusting();
  expired.certificate = old.certificate;
  expired.key = old.key;
  ExpectRefuses(expired);
  // The server probes itself with its own certificate.
  TlsClient::Options own = Trusting();
  own.certificate = files_.certificate;
  own.key = files_.key;
  ExpectServes(own);
  EXPECT_THAT(
      metrics_.Text(),
      HasSubstr("trivium_connections_ended_total{reason=\"handshake\"} 3"));
}

TEST_F(CarrierTest, NewConnectionsUseANewCertificate) {
  Start();
  TlsClient before = Connect();
  EXPECT_EQ(before.ServersName(), "server");
  const UniqueFd server = Accepted();
  const TlsCredentials::Files next = authority_.Issue("next");
  std::filesystem::rename(next.certificate, files_.certificate);
  std::filesystem::rename(next.key, files_.key);
  ASSERT_TRUE(credentials_->Reload().ok());
  EXPECT_EQ(Connect().ServersName(), "next");
  Send(server, "goes on");
  EXPECT_EQ(before.Receive(7), "goes on");
}

TEST_F(CarrierTest, SendsTheServersLastBytesBeforeItEnds) {
  Start();
  TlsClient client = Connect();
  UniqueFd server = Accepted();
  acceptor_->Close();
  Send(server, "bye");
  server = UniqueFd();
  std::thread end([this] { acceptor_.reset(); });
  EXPECT_EQ(client.Receive(4), "bye");
  end.join();
}

// Passes capital letters only, and holds the last one back.
class CapitalsGuard final : public ByteGuard {
 public:
  std::string Pass(std::string_view bytes) override {
    std::string passes;
    for (const char byte : bytes) {
      if (byte < 'A' || byte > 'Z') continue;
      passes += std::exchange(held_, byte);
    }
    return passes;
  }

  bool is_over() const override { return held_ == 'Z'; }

 private:
  char held_ = '>';
};

class PlainCarrierTest : public testing::Test {
 protected:
  void Start(CarrierOptions options = {}) {
    auto acceptor = NewAcceptor("127.0.0.1", 0);
    ASSERT_TRUE(acceptor.ok());
    acceptor_ = NewCarrier(options, *std::move(acceptor), &metrics_);
    fcntl(acceptor_->fd(), F_SETFL, 0);  // the tests wait
  }
  UniqueFd Accepted() {
    sockaddr_storage client{};
    UniqueFd socket = acceptor_->Accept(&client);
    if (socket) fcntl(socket.get(), F_SETFL, 0);
    return socket;
  }

  Metrics metrics_{1};
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(PlainCarrierTest, EachConnectionHasAGuard) {
  Start({.guard = [] { return std::make_unique<CapitalsGuard>(); }});
  for (int i = 0; i < 2; ++i) {
    HttpSocket client(PortOf(acceptor_->address()));
    const UniqueFd server = Accepted();
    ASSERT_TRUE(server);
    client.Send("aBcD");
    client.Send("eFg");
    char got[4] = {};
    EXPECT_EQ(recv(server.get(), got, 3, MSG_WAITALL), 3);
    EXPECT_EQ(std::string(got), ">BD");
    EXPECT_EQ(send(server.get(), "answer", 6, MSG_NOSIGNAL), 6);
    EXPECT_EQ(client.ReceiveSome(), "answer");
  }
}

TEST_F(PlainCarrierTest, IsReadNoFurtherOnceTheGuardIsOver) {
  Start({.guard = [] { return std::make_unique<CapitalsGuard>(); }});
  HttpSocket client(PortOf(acceptor_->address()));
  UniqueFd server = Accepted();
  client.Send("AZ");
  char got[3] = {};
  EXPECT_EQ(recv(server.get(), got, 2, MSG_WAITALL), 2);
  EXPECT_EQ(std::string(got), ">A");
  client.Send("BC");
  EXPECT_EQ(send(server.get(), "no", 2, MSG_NOSIGNAL), 2);
  server = UniqueFd();
  EXPECT_EQ(client.Receive(), "no");
  // The rest is discarded, but not without end.
  const std::string much(64 << 10, 'x');
  int sent = 0;
  while (sent < 1000 && client.Send(much)) ++sent;
  EXPECT_LT(sent, 1000);
}

TEST_F(PlainCarrierTest, EndsAClientThatDoesNotReadWhatAClosedServerSent) {
  Start({.stall_timeout = absl::Milliseconds(50)});
  HttpSocket client(PortOf(acceptor_->address()));
  UniqueFd server = Accepted();
  fcntl(server.get(), F_SETFL, O_NONBLOCK);
  const std::string much(1 << 20, 'x');
  // Until nothing more fits anywhere.
  for (int full = 0; full < 20;) {
    if (send(server.get(), much.data(), much.size(), MSG_NOSIGNAL) > 0) {
      full = 0;
    } else {
      ++full;
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
  server = UniqueFd();
  while (client.Send("x")) absl::SleepFor(absl::Milliseconds(1));
}

// A connection that says nothing reaches the server, which bounds their number.
TEST_F(PlainCarrierTest, SilentConnectionsReachTheServer) {
  Start();
  const HttpSocket client(PortOf(acceptor_->address()));
  EXPECT_TRUE(Accepted());
}

int CountFiles() {
  int count = 0;
  for ([[maybe_unused]] const auto& file :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// Of the three that a connection takes. The carrier has two for the next one.
class FewFilesTest : public PlainCarrierTest,
                     public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Left, FewFilesTest, testing::Values(0, 1, 2, 3));

TEST_P(FewFilesTest, TellsTheServerAndWaitsForFiles) {
  const auto files_left = static_cast<rlim_t>(GetParam());
  Start();
  const int before = CountFiles();
  HttpSocket first(PortOf(acceptor_->address()));
  UniqueFd server = Accepted();
  ASSERT_TRUE(server);
  // The client's, three of its connection, and two for the next one.
  while (CountFiles() < before + 6) absl::SleepFor(absl::Milliseconds(1));
  // The clients' sockets exist, and the carrier gets few for its sides.
  const UniqueFd next(socket(AF_INET, SOCK_STREAM, 0));
  const UniqueFd client(socket(AF_INET, SOCK_STREAM, 0));
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  rlimit few = files;
  few.rlim_cur = static_cast<rlim_t>(client.get()) + 1 + files_left;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const sockaddr_storage address = acceptor_->address();
  const auto connect_to_it = [&address](const UniqueFd& socket) {
    EXPECT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                      sizeof(sockaddr_in)),
              0);
  };
  UniqueFd accepted;
  if (files_left > 0) {
    connect_to_it(next);
    accepted = Accepted();
    EXPECT_TRUE(accepted);
  }
  connect_to_it(client);
  EXPECT_FALSE(Accepted());
  EXPECT_EQ(errno, EMFILE);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_TRUE(Accepted());  // after the pause
}

}  // namespace
}  // namespace trivium
