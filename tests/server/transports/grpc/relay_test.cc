// The relay with tests that act as gRPC: they get the socket that gRPC would
// get.
#include "server/transports/grpc/relay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/socket.h"
#include "server/transports/grpc/http2_frames.h"
#include "server/transports/grpc/relayed_peer.h"
#include "server/transports/net/listener_probe.h"

namespace trivium {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kHello = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// HEADERS that open stream 1, without a payload.
constexpr std::string_view kCall("\0\0\0\1\4\0\0\0\1", 9);
// HEADERS that end stream 1.
constexpr std::string_view kAnswer("\0\0\0\1\5\0\0\0\1", 9);

class RelayTest : public testing::Test {
 protected:
  void Start(int max_connections = 100, const std::string& advice = "",
             Relay::Judge judge = nullptr) {
    Relay::Options options;
    options.max_connections = max_connections;
    options.http1_advice = advice;
    auto relay = Relay::Create(
        options,
        [this](int socket) {
          fcntl(socket, F_SETFL, 0);  // the tests wait
          MutexLock lock(&mutex_);
          accepted_.emplace_back(socket);
          changed_.Signal();
        },
        &metrics_, &resets_, &turns_, &incoming_, std::move(judge));
    ASSERT_TRUE(relay.ok()) << relay.status();
    relay_ = *std::move(relay);
  }

  UniqueFd Connect() {
    UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(relay_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof(address)),
              0);
    return client;
  }
  // Returns gRPC's end of the next connection.
  UniqueFd Accepted() {
    MutexLock lock(&mutex_);
    while (accepted_.empty()) changed_.Wait(&mutex_);
    UniqueFd socket = std::move(accepted_.front());
    accepted_.pop_front();
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
  static bool IsClosed(const UniqueFd& socket) {
    return Receive(socket, 1).empty();
  }

  Metrics metrics_{1};
  ResetStreams resets_;
  static constexpr size_t kMostBeginning = 16;
  CallTurns turns_{kMostBeginning};
  std::atomic<int64_t> memory_ = 0;
  OverloadManager overload_{{.limit_bytes = 100 << 20,
                             .memory = [this] { return memory_.load(); },
                             .trim = [] {}},
                            &metrics_,
                            /*watch=*/false};
  IncomingMessages incoming_{&overload_, &metrics_, 8 << 20, "no room"};
  Mutex mutex_;
  CondVar changed_;
  std::deque<UniqueFd> accepted_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Relay> relay_;
};

TEST_F(RelayTest, CarriesBytesBothWays) {
  Start();
  const UniqueFd client = Connect();
  const UniqueFd grpc = Accepted();
  Send(client, std::string(kHello) + std::string(kCall));
  EXPECT_EQ(Receive(grpc, kHello.size() + kCall.size()),
            std::string(kHello) + std::string(kCall));
  Send(grpc, kAnswer);
  EXPECT_EQ(Receive(client, kAnswer.size()), kAnswer);
}

TEST_F(RelayTest, GrpcKnowsTheClientsAddress) {
  Start();
  const UniqueFd client = Connect();
  const UniqueFd grpc = Accepted();
  sockaddr_un name{};
  socklen_t size = sizeof(name);
  ASSERT_EQ(getpeername(grpc.get(), reinterpret_cast<sockaddr*>(&name), &size),
            0);
  const std::string text(name.sun_path + 1,
                         size - offsetof(sockaddr_un, sun_path) - 1);
  EXPECT_EQ(PeerOfRelayed("unix-abstract:" + text),
            "ipv4:127.0.0.1:" + std::to_string(PortOf(client.get())));
  EXPECT_EQ(PeerOfRelayed("ipv4:1.2.3.4:5"), "ipv4:1.2.3.4:5");
}

TEST_F(RelayTest, ClosesBothSidesWhenOneCloses) {
  Start();
  UniqueFd client = Connect();
  UniqueFd grpc = Accepted();
  Send(client, kHello);
  client = UniqueFd();
  EXPECT_EQ(Receive(grpc, kHello.size()), kHello);
  EXPECT_TRUE(IsClosed(grpc));

  client = Connect();
  grpc = Accepted();
  // More bytes than the relay holds; they are sent when the client reads.
  const std::string last(1 << 20, 'x');
  std::thread writer([&] {
    Send(grpc, last);
    grpc = UniqueFd();
  });
  EXPECT_EQ(Receive(client, last.size()), last);
  writer.join();
  EXPECT_TRUE(IsClosed(client));
}

TEST_F(RelayTest, DoesNotReadFromASideWhileTheOtherDoesNotRead) {
  Start();
  const UniqueFd client = Connect();
  const UniqueFd grpc = Accepted();
  fcntl(grpc.get(), F_SETFL, O_NONBLOCK);
  size_t sent = 0;
  // Writes until nothing is taken for a while: the sockets' buffers are full.
  const std::string piece(1 << 16, 'x');
  pollfd writable{grpc.get(), POLLOUT, 0};
  while (sent < (64 << 20) && poll(&writable, 1, 500) > 0) {
    const ssize_t count =
        send(grpc.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
    if (count > 0) sent += static_cast<size_t>(count);
  }
  EXPECT_LT(sent, 64u << 20);
  EXPECT_EQ(Receive(client, sent), std::string(sent, 'x'));
}

TEST_F(RelayTest, EvictsTheConnectionIdleTheLongest) {
  Start(16);
  std::vector<UniqueFd> clients, grpcs;
  for (int i = 0; i < 16; ++i) {
    clients.push_back(Connect());
    grpcs.push_back(Accepted());
    // The first connection has a call.
    Send(clients[i], kHello);
    if (i == 0) Send(clients[i], kCall);
    Receive(grpcs[i], kHello.size() + (i == 0 ? kCall.size() : 0));
  }
  // The second is used once more, so the third is idle the longest.
  Send(clients[1], kCall);
  Receive(grpcs[1], kCall.size());
  Send(grpcs[1], kAnswer);
  Receive(clients[1], kAnswer.size());
  clients.push_back(Connect());
  EXPECT_TRUE(IsClosed(clients[2]));
  EXPECT_TRUE(IsClosed(grpcs[2]));
  grpcs.push_back(Accepted());
  for (const size_t i : {0, 1, 3, 16}) {
    Send(grpcs[i], kAnswer);
    EXPECT_EQ(Receive(clients[i], kAnswer.size()), kAnswer) << i;
  }
  EXPECT_THAT(
      metrics_.Text(),
      HasSubstr("trivium_connections_ended_total{reason=\"evicted\"} 1"));
  EXPECT_THAT(metrics_.Text(), HasSubstr("trivium_connections 16"));
}

TEST_F(RelayTest, RefusesAConnectionIfAllAreInUse) {
  Start(16);
  std::vector<UniqueFd> clients, grpcs;
  for (int i = 0; i < 16; ++i) {
    clients.push_back(Connect());
    grpcs.push_back(Accepted());
    Send(clients[i], std::string(kHello) + std::string(kCall));
    Receive(grpcs[i], kHello.size() + kCall.size());
  }
  EXPECT_TRUE(IsClosed(Connect()));
  EXPECT_THAT(
      metrics_.Text(),
      HasSubstr("trivium_connections_ended_total{reason=\"refused\"} 1"));
}

TEST_F(RelayTest, Http1IsToldWhereToGo) {
  for (const std::string request :
       {"GET / HTTP/1.1\r\n\r\n", "POST /v1/models HTTP/1.1\r\n\r\n"}) {
    Start(/*max_connections=*/100, "HTTP is at 127.0.0.1:8080");
    const UniqueFd client = Connect();
    const UniqueFd grpc = Accepted();
    Send(client, request);
    const std::string answer = Receive(client, 4096);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 Bad Request\r\n"));
    EXPECT_THAT(answer, testing::EndsWith("; HTTP is at 127.0.0.1:8080\n"));
    EXPECT_TRUE(IsClosed(grpc));
  }
}

TEST_F(RelayTest, AbuseEndsTheConnection) {
  Start();
  const UniqueFd client = Connect();
  const UniqueFd grpc = Accepted();
  Send(client, "\x16\x03\x01 no HTTP at all");
  EXPECT_TRUE(IsClosed(grpc));
  EXPECT_TRUE(IsClosed(client));
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("trivium_connections_ended_total{reason=\"abuse\"} 1"));
}

TEST_F(RelayTest, AFloodIsEventuallyRead) {
  Start();
  const UniqueFd client = Connect();
  const UniqueFd grpc = Accepted();
  // Empty DATA frames, more than a new connection may send at once.
  std::string flood = std::string(kHello) + std::string(kCall);
  for (int i = 0; i < 10000; ++i) flood += std::string("\0\0\0\0\0\0\0\0\1", 9);
  Send(client, flood);
  EXPECT_EQ(Receive(grpc, flood.size()), flood);
}

// However many calls a client sends at once, gRPC has few of them that have not
// begun, and another client's call is among the next.
TEST_F(RelayTest, ACallWaitsForFewOfAnotherClientsMany) {
  constexpr int kMany = 1000;
  // HEADERS as the relay writes them, and DATA of an empty message.
  const std::string block = WriteFields({{":method", "POST"}});
  const auto call = [&block](int i) {
    std::string bytes;
    const auto stream = static_cast<uint32_t>(2 * i + 1);
    AppendHeaders(stream, 0, block, &bytes);
    AppendHead({5, kData, kEndStream, stream}, &bytes);
    return bytes + std::string(5, '\0');
  };
  std::atomic<CallId> last = 0;
  // Each connection is a client.
  Start(100, "", [&](HeaderFields*, const Relay::Origin& origin, bool) {
    Http2Guard::Judgement judgement;
    judgement.turn = std::make_unique<CallTurns::Turn>(
        &turns_, ++last, origin.connection, origin.connection);
    return judgement;
  });
  const UniqueFd greedy = Connect();
  Send(greedy, kHello);
  const UniqueFd greedys = Accepted();
  std::string calls;
  for (int i = 0; i < kMany; ++i) calls += call(i);
  const size_t size = call(0).size();
  Send(greedy, calls);
  const size_t begun = kHello.size() + kMostBeginning * size;
  EXPECT_EQ(Receive(greedys, begun).size(), begun);
  const UniqueFd honest = Connect();
  Send(honest, std::string(kHello) + call(0));
  const UniqueFd honests = Accepted();
  // All but the message.
  Receive(honests, kHello.size() + size - 5);
  for (CallId i = 1; i <= kMostBeginning / 2; ++i) turns_.Begun(i);
  EXPECT_EQ(Receive(honests, 5), std::string(5, '\0'));
  fcntl(greedys.get(), F_SETFL, O_NONBLOCK);
  std::string more(kMany * size, '\0');
  const ssize_t got = recv(greedys.get(), more.data(), more.size(), 0);
  EXPECT_LE(got, static_cast<ssize_t>((kMostBeginning / 2 + 1) * size));
  relay_.reset();
}

TEST_F(RelayTest, ALargeMessageWaitsForMemory) {
  memory_ = 99 << 20;
  overload_.Look();
  Start();
  const UniqueFd client = Connect();
  const UniqueFd grpc = Accepted();
  // DATA of 2^14 bytes, the beginning of a message of 2^20.
  const std::string head = std::string(kHello) + std::string(kCall) +
                           std::string("\0\x40\0\0\0\0\0\0\1", 9) +
                           std::string("\0\0\x10\0\0", 5);
  const std::string rest((1 << 14) - 5, 'x');
  Send(client, head + rest);
  EXPECT_EQ(Receive(grpc, head.size()), head);
  pollfd readable{grpc.get(), POLLIN, 0};
  EXPECT_EQ(poll(&readable, 1, 100), 0) << "the message came";
  // Other connections are served meanwhile.
  const UniqueFd other = Connect();
  const UniqueFd others = Accepted();
  Send(other, std::string(kHello) + std::string(kCall));
  EXPECT_EQ(Receive(others, kHello.size() + kCall.size()),
            std::string(kHello) + std::string(kCall));
  memory_ = 0;
  overload_.Look();
  EXPECT_EQ(Receive(grpc, rest.size()), rest);
  EXPECT_EQ(overload_.account()->bytes(Held::kIncoming), 1 << 20);
}

TEST_F(RelayTest, SendsGrpcsLastBytesBeforeItEnds) {
  Start();
  const UniqueFd client = Connect();
  UniqueFd grpc = Accepted();
  Send(grpc, kAnswer);
  grpc = UniqueFd();
  relay_.reset();
  EXPECT_EQ(Receive(client, kAnswer.size()), kAnswer);
  EXPECT_TRUE(IsClosed(client));
}

TEST_F(RelayTest, ClientsGoElsewhereAndFinishTheirCalls) {
  Start();
  const UniqueFd client = Connect();
  UniqueFd grpc = Accepted();
  constexpr std::string_view kNoSettings("\0\0\0\4\0\0\0\0\0", 9);
  Send(client, std::string(kHello) + std::string(kCall));
  Send(grpc, kNoSettings);
  EXPECT_EQ(Receive(client, kNoSettings.size()), kNoSettings);
  relay_->GoAway();
  std::string away;
  AppendGoAway(&away);
  EXPECT_EQ(Receive(client, away.size()), away);
  // The port is closed.
  const UniqueFd late(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_storage address = relay_->address();
  EXPECT_NE(connect(late.get(), reinterpret_cast<const sockaddr*>(&address),
                    sizeof(sockaddr_in)),
            0);
  Send(grpc, kAnswer);
  EXPECT_EQ(Receive(client, kAnswer.size()), kAnswer);
}

TEST_F(RelayTest, ATakenPortIsAnError) {
  Start();
  Relay::Options options;
  options.port = relay_->port();
  const auto second = Relay::Create(
      options, [](int) {}, &metrics_, &resets_, &turns_, &incoming_);
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
  options.host = "no host of this name";
  const auto nowhere = Relay::Create(
      options, [](int) {}, &metrics_, &resets_, &turns_, &incoming_);
  EXPECT_TRUE(absl::IsUnavailable(nowhere.status())) << nowhere.status();
}

sockaddr_storage AddressOf(const UniqueFd& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return address;
}

TEST(ListenerProbeTest, DetectsAListenerThatDoesNotAnswer) {
  auto listeners = Listen("127.0.0.1", 0);
  ASSERT_TRUE(listeners.ok());
  const sockaddr_storage address = AddressOf(listeners->front());
  // The system accepts the connection; no program answers.
  EXPECT_FALSE(ListenerProbe(kProbeHttp2, address, nullptr, absl::Hours(1),
                             absl::Milliseconds(50))
                   .answering());
  listeners->clear();
  EXPECT_FALSE(ListenerProbe(kProbeHttp2, address, nullptr, absl::Hours(1),
                             absl::Seconds(10))
                   .answering());
}

TEST(ListenerProbeTest, AcceptsAnHttpListenersAnswer) {
  auto listeners = Listen("127.0.0.1", 0);
  ASSERT_TRUE(listeners.ok());
  const UniqueFd& listener = listeners->front();
  std::thread server([&listener] {
    pollfd coming{listener.get(), POLLIN, 0};
    ASSERT_EQ(poll(&coming, 1, -1), 1);
    const UniqueFd socket(accept(listener.get(), nullptr, nullptr));
    const std::string answer = "HTTP/1.1 404 Not Found\r\n\r\n";
    EXPECT_EQ(send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(answer.size()));
  });
  EXPECT_TRUE(ListenerProbe(kProbeHttp1, AddressOf(listener), nullptr,
                            absl::Hours(1), absl::Seconds(10))
                  .answering());
  server.join();
}

TEST_F(RelayTest, AProbeIsAnsweredByGrpc) {
  Start();
  std::thread grpc([this] {
    const UniqueFd socket = Accepted();
    EXPECT_THAT(Receive(socket, 33), StartsWith(std::string(kHello)));
    Send(socket, std::string_view("\0\0\0\4\0\0\0\0\0", 9));  // SETTINGS
  });
  EXPECT_TRUE(ListenerProbe(kProbeHttp2, relay_->address(), nullptr,
                            absl::Hours(1), absl::Seconds(10))
                  .answering());
  grpc.join();
}

}  // namespace
}  // namespace trivium
