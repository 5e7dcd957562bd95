#include "server/transports/grpc/connection_table.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace trivium {
namespace {

constexpr absl::Duration kAge = absl::Seconds(100);
constexpr absl::Duration kGrace = absl::Seconds(10);

class ConnectionTableTest : public testing::Test {
 protected:
  void Add(uint64_t id) {
    std::array<int, 2> client, grpc;
    ASSERT_EQ(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, client.data()), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, grpc.data()),
              0);
    client_ = UniqueFd(client[0]);
    grpc_ = UniqueFd(grpc[0]);
    table_.Add(id,
               std::make_unique<RelayedConnection>(
                   UniqueFd(client[1]), UniqueFd(grpc[1]), "ipv4:127.0.0.1:1",
                   Http2Guard(100, now_, &resets_, &bare_calls_, &incoming_),
                   /*http1_answer=*/"", now_),
               now_);
    // gRPC starts with its settings; after them the guard may send.
    const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
    send(grpc_.get(), settings.data(), settings.size(), 0);
    table_.OnEvent({EPOLLIN, {.u64 = 2 * id + 1}}, now_);
    EXPECT_EQ(Received(), settings);
  }
  std::string Received() const {
    std::string bytes(100, '\0');
    const ssize_t count = recv(client_.get(), bytes.data(), bytes.size(), 0);
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(0, count)));
    return bytes;
  }

  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  Metrics metrics_{1};
  ResetStreams resets_;
  BareCalls bare_calls_{now_};
  OverloadManager overload_{{.limit_bytes = 100 << 20,
                             .memory = [] { return int64_t{0}; },
                             .trim = [] {}},
                            &metrics_,
                            /*watch=*/false};
  IncomingMessages incoming_{&overload_, &metrics_, 8 << 20, "no room"};
  UniqueFd epoll_{epoll_create1(EPOLL_CLOEXEC)};
  CallTurns turns_{16};
  ConnectionTable table_{epoll_.get(), &bare_calls_, &turns_, &metrics_,
                         100,          kAge,         kGrace};
  UniqueFd client_, grpc_;  // the far ends of the connection added last
};

TEST_F(ConnectionTableTest, AnOldConnectionIsToldToGoAndEndsAfterItsGrace) {
  Add(1);
  const absl::Time due = table_.next_due(now_);
  EXPECT_GE(due, now_ + 0.9 * kAge);
  EXPECT_LE(due, now_ + 1.1 * kAge);
  table_.MoveDue(due - absl::Milliseconds(1));
  EXPECT_EQ(Received(), "");
  table_.MoveDue(due);
  EXPECT_EQ(Received(),
            std::string("\0\0\10\7\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\0", 17));
  EXPECT_EQ(table_.next_due(due), due + kGrace);
  table_.MoveDue(due + kGrace - absl::Milliseconds(1));
  EXPECT_EQ(table_.size(), 1);
  table_.MoveDue(due + kGrace);
  EXPECT_EQ(table_.size(), 0);
  EXPECT_EQ(table_.next_due(due), absl::InfiniteFuture());
}

TEST_F(ConnectionTableTest, ForgetsAConnectionThatEndedByItself) {
  Add(1);
  const absl::Time due = table_.next_due(now_);
  client_ = UniqueFd();
  table_.OnEvent({EPOLLHUP, {.u64 = 2}}, now_);
  EXPECT_EQ(table_.size(), 0);
  table_.MoveDue(due);
  EXPECT_EQ(table_.next_due(now_), absl::InfiniteFuture());
}

TEST_F(ConnectionTableTest, RefusesALateMessageOfASilentClient) {
  Add(1);
  // HEADERS, and DATA of 6 bytes, the beginning of a message of 2^20.
  const std::string bytes = std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") +
                            std::string("\0\0\0\1\4\0\0\0\1", 9) +
                            std::string("\0\0\6\0\0\0\0\0\1", 9) +
                            std::string("\0\0\x10\0\0x", 6);
  send(client_.get(), bytes.data(), bytes.size(), 0);
  table_.OnEvent({EPOLLIN, {.u64 = 2}}, now_);
  table_.MoveDue(now_);
  const absl::Time late = now_ + Http2Guard::kMessageTime;
  EXPECT_EQ(table_.next_due(now_), late);
  table_.MoveDue(late - absl::Milliseconds(1));
  EXPECT_EQ(Received(), "");
  table_.MoveDue(late);
  EXPECT_EQ(Received(), std::string("\0\0\4\3\0\0\0\0\1\0\0\0\x0b", 13));
  EXPECT_GT(table_.next_due(late), late);
}

// What ends thousands of calls at once would keep gRPC from all other clients.
TEST_F(ConnectionTableTest, EndsCallsOfClientsThatAreGoneAtABoundedRate) {
  constexpr int kConnections = 10;
  constexpr uint32_t kCalls = 90;
  std::string calls = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (uint32_t i = 0; i < kCalls; ++i) {
    calls += std::string("\0\0\0\1\4\0\0\0", 8) + static_cast<char>(2 * i + 1);
  }
  std::vector<UniqueFd> clients, grpcs;
  for (uint64_t id = 1; id <= kConnections; ++id) {
    Add(id);
    send(client_.get(), calls.data(), calls.size(), 0);
    now_ += absl::Seconds(1);
    table_.OnEvent({EPOLLIN, {.u64 = 2 * id}}, now_);
    table_.MoveDue(now_);
    table_.MoveDue(now_);
    clients.push_back(std::move(client_));
    grpcs.push_back(std::move(grpc_));
  }
  now_ += absl::Seconds(1);
  bare_calls_.Ready(now_);
  for (uint64_t id = 1; id <= kConnections; ++id) {
    shutdown(clients[id - 1].get(), SHUT_WR);
    table_.OnEvent({EPOLLIN, {.u64 = 2 * id}}, now_);
  }
  const auto is_closed = [](const UniqueFd& socket) {
    std::string bytes(4096, '\0');
    ssize_t count = 0;
    do {
      count = recv(socket.get(), bytes.data(), bytes.size(), 0);
    } while (count > 0);
    return count == 0;
  };
  // Their clients see the end at once.
  for (const UniqueFd& client : clients) EXPECT_TRUE(is_closed(client));
  const auto open = [&] {
    return std::count_if(grpcs.begin(), grpcs.end(),
                         [&](const auto& grpc) { return !is_closed(grpc); });
  };
  const int at_once = static_cast<int>(BareCalls::kBurst) / kCalls + 1;
  EXPECT_EQ(open(), kConnections - at_once);
  EXPECT_EQ(table_.size(), kConnections - at_once);
  // Events that epoll had reported before do no harm.
  table_.OnEvent({EPOLLIN, {.u64 = 2 * kConnections}}, now_);
  table_.OnEvent({EPOLLHUP, {.u64 = 2 * kConnections + 1}}, now_);
  const absl::Time begin = now_;
  while (table_.size() > 0) {
    now_ = std::max(now_ + absl::Microseconds(1), table_.next_due(now_));
    ASSERT_LT(now_, begin + absl::Seconds(1));
    table_.MoveDue(now_);
  }
  EXPECT_EQ(open(), 0);
  EXPECT_GT(now_ - begin, absl::Seconds((kConnections - at_once - 1) * kCalls /
                                        BareCalls::kPerSecond));
  EXPECT_EQ(table_.next_due(now_), absl::InfiniteFuture());
}

}  // namespace
}  // namespace trivium
