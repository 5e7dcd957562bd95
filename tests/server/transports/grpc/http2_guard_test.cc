#include "server/transports/grpc/http2_guard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/server/transports/grpc/puppet_batcher.h"

namespace trivium {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string Frame(uint8_t type, uint8_t flags, uint32_t stream,
                  const std::string& payload) {
  std::string frame;
  AppendHead({static_cast<uint32_t>(payload.size()), type, flags, stream},
             &frame);
  return frame + payload;
}
// A frame with a payload of `bytes` bytes. As HEADERS, it is a block of that
// many fields.
std::string Frame(uint8_t type, uint8_t flags, uint32_t stream,
                  size_t bytes = 0) {
  const char filling = type == kHeaders ? '\x82' : 'x';
  return Frame(type, flags, stream, std::string(bytes, filling));
}

// A DATA frame of 16 KiB or less with `payload`.
std::string Data(uint32_t stream, const std::string& payload,
                 uint8_t flags = 0) {
  return Frame(kData, flags, stream, payload);
}

class Http2GuardTest : public testing::Test {
 protected:
  Http2GuardTest() { Client(std::string(kPreface)); }

  // Offers bytes in pieces of one size and returns how many are consumed.
  // to_grpc_ gets what passes.
  size_t Client(const std::string& bytes, size_t piece = SIZE_MAX) {
    to_grpc_.clear();
    size_t taken = 0;
    while (taken < bytes.size()) {
      std::string made;
      const absl::StatusOr<size_t> some =
          guard_.OnClient(bytes.substr(taken, piece), now_, &made);
      EXPECT_TRUE(some.ok()) << some.status();
      if (!some.ok() || *some == 0) return taken;
      to_grpc_ += made;
      taken += *some;
    }
    return taken;
  }
  absl::Status Error(const std::string& bytes) {
    std::string made;
    return guard_.OnClient(bytes, now_, &made).status();
  }
  // Returns what the client gets after gRPC has sent these bytes.
  std::string Server(std::string_view bytes) {
    std::string to_client;
    guard_.OnServer(bytes, &to_client);
    return to_client;
  }
  static std::string Repeated(const std::string& bytes, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += bytes;
    return all;
  }

  static constexpr int kMaxStreams = 10;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  Http2Guard NewGuard() {
    return Http2Guard(kMaxStreams, now_, &resets_, &bare_calls_, &incoming_,
                      [this](HeaderFields* fields, bool may_refuse) {
                        Http2Guard::Judgement judgement;
                        judgement.client = client_;
                        judgement.named = named_;
                        if (may_refuse) judgement.refusal = answer_;
                        if (!judgement.refusal) {
                          judgement.call = std::make_unique<CallInTransit>(
                              &batcher_, Sender{1});
                        }
                        seen_ = *fields;
                        return judgement;
                      });
  }
  // A message's head.
  static std::string Message(uint32_t bytes) {
    std::string head(1, '\0');
    for (const int shift : {24, 16, 8, 0}) {
      head += static_cast<char>(bytes >> shift);
    }
    return head;
  }
  int64_t incoming() const {
    return overload_.account()->bytes(Held::kIncoming);
  }
  void SetMemory(int64_t bytes) {
    memory_ = bytes;
    overload_.Look();
  }

  static constexpr int64_t kLimit = 100 << 20;
  Metrics metrics_{1};
  int64_t memory_ = 0;
  mutable OverloadManager overload_{{.limit_bytes = kLimit,
                                     .memory = [this] { return memory_; },
                                     .trim = [] {}},
                                    &metrics_,
                                    /*watch=*/false};
  IncomingMessages incoming_{&overload_, &metrics_, 50 << 20, "no room"};
  ResetStreams resets_;
  BareCalls bare_calls_{now_};
  PuppetBatcher batcher_;
  std::string to_grpc_;
  HeaderFields seen_;                  // of the last call that was judged
  std::optional<std::string> answer_;  // what refuses calls
  ClientId client_ = 0;                // of the next call
  bool named_ = false;                 // likewise
  Http2Guard guard_ = NewGuard();
};

// A call is expected from its first complete message, however the bytes are
// cut, until its stream ends in any way.
TEST_F(Http2GuardTest, CallsThatPassAreExpectedUntilTheirStreamEnds) {
  const std::string message = Message(20) + std::string(20, 'x');
  const auto call = [&](uint32_t stream) {
    Client(Frame(kHeaders, kEndHeaders, stream) + Data(stream, message));
  };
  Client(Frame(kHeaders, kEndHeaders, 1) + Data(1, message.substr(0, 7)));
  EXPECT_EQ(batcher_.in_transit(), 0u);
  Client(Data(1, message.substr(7)) + Data(1, "", kEndStream));
  EXPECT_EQ(batcher_.in_transit(), 1u);
  Client(Frame(kHeaders, kEndHeaders, 3) + Data(3, Message(0)));
  EXPECT_EQ(batcher_.in_transit(), 2u);
  Server(Frame(kHeaders, kEndHeaders | kEndStream, 1));
  EXPECT_EQ(batcher_.in_transit(), 1u);
  Client(Frame(kReset, 0, 3, 4));
  EXPECT_EQ(batcher_.in_transit(), 0u);
  call(5);
  Server(Frame(kReset, 0, 5, 4));
  EXPECT_EQ(batcher_.in_transit(), 0u);
  // No message arrived.
  Client(Frame(kHeaders, kEndHeaders | kEndStream, 7));
  EXPECT_EQ(batcher_.in_transit(), 0u);
  // The connection ends.
  call(9);
  call(11);
  EXPECT_EQ(batcher_.in_transit(), 2u);
  guard_ = NewGuard();
  EXPECT_EQ(batcher_.in_transit(), 0u);
}

TEST_F(Http2GuardTest, CallsKeepTheirPlaceUntilTheirStreamEnds) {
  OpenCalls calls(1, &metrics_);
  const auto full = [&calls] { return !calls.Admit(1).ok(); };
  std::vector<std::unique_ptr<OpenCalls::Place>> others;
  guard_ = Http2Guard(kMaxStreams, now_, &resets_, &bare_calls_, &incoming_,
                      [&calls](HeaderFields*, bool) -> Http2Guard::Judgement {
                        auto place = calls.Admit(1);
                        if (!place.ok()) return {.reset = true};
                        return {.place = *std::move(place)};
                      });
  Client(std::string(kPreface) + Frame(kHeaders, kEndHeaders, 1));
  while (!full()) others.push_back(*calls.Admit(1));
  // The client learns that it may try again; gRPC gets nothing.
  Server(Frame(kSettings, 0, 0));
  Client(Frame(kHeaders, kEndHeaders, 3) + Data(3, Message(0)));
  EXPECT_EQ(to_grpc_, "");
  EXPECT_EQ(guard_.open_streams(), 1u);
  EXPECT_EQ(Server(""), Frame(kReset, 0, 3, std::string("\0\0\0\7", 4)));
  // Either side may end it.
  Server(Frame(kHeaders, kEndHeaders | kEndStream, 1));
  EXPECT_FALSE(full());
  Client(Frame(kHeaders, kEndHeaders, 5));
  EXPECT_TRUE(full());
  Client(Frame(kReset, 0, 5, 4));
  EXPECT_FALSE(full());
  Client(Frame(kHeaders, kEndHeaders, 7));
  EXPECT_TRUE(full());
  guard_ = NewGuard();  // the connection has ended
  EXPECT_FALSE(full());
}

TEST_F(Http2GuardTest, CallsPassHoweverTheirBytesAreCut) {
  for (const size_t piece : {1, 7, 9, 100, 100000}) {
    guard_ = NewGuard();
    Client(std::string(kPreface), piece);
    for (uint32_t stream = 1; stream < 40; stream += 2) {
      const std::string call = Frame(kHeaders, kEndHeaders, stream, 50) +
                               Frame(kData, kEndStream, stream, 20000);
      EXPECT_EQ(Client(call, piece), call.size());
      EXPECT_EQ(guard_.open_streams(), 1u);
      // The answer, in pieces too.
      const std::string answer =
          Frame(kHeaders, kEndHeaders, stream, 10) +
          Frame(kData, 0, stream, 10) +
          Frame(kHeaders, kEndHeaders | kEndStream, stream, 10);
      for (size_t at = 0; at < answer.size(); at += piece) {
        const std::string_view part =
            std::string_view(answer).substr(at, piece);
        EXPECT_EQ(Server(part), part);
      }
      EXPECT_EQ(guard_.open_streams(), 0u);
    }
  }
}

TEST_F(Http2GuardTest, EndsAConnectionThatIsNotHttp2) {
  guard_ = NewGuard();
  EXPECT_TRUE(absl::IsInvalidArgument(Error("GET / HTTP/1.1\r\n\r\n")));
}

TEST_F(Http2GuardTest, EndsAConnectionWhoseHeaderBlockIsTooLong) {
  // HEADERS alone, and small and empty CONTINUATION frames.
  for (const size_t bytes : {16384, 5, 0}) {
    guard_ = NewGuard();
    Client(std::string(kPreface));
    EXPECT_TRUE(Error(Frame(kHeaders, 0, 1, bytes)).ok());
    absl::Status status;
    size_t sent = 0;
    for (; status.ok() && sent < 1 << 20; sent += 9 + bytes) {
      now_ += absl::Seconds(1);
      status = Error(Frame(kContinuation, 0, 1, bytes));
    }
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << bytes;
    EXPECT_LE(sent, size_t{Http2Guard::kMaxHeaderBytes} + 9 + bytes);
  }
  // Each block is counted by itself.
  guard_ = NewGuard();
  Client(std::string(kPreface));
  for (int i = 0; i < 10; ++i) {
    now_ += absl::Seconds(1);
    const std::string block = WriteFields({{"a", std::string(20000, 'x')}});
    EXPECT_TRUE(Error(Frame(kHeaders, 0, 1, block.substr(0, 10000)) +
                      Frame(kContinuation, kEndHeaders, 1, block.substr(10000)))
                    .ok());
  }
}

TEST_F(Http2GuardTest, BoundsTheOpenStreams) {
  uint32_t stream = 1;
  for (int i = 0; i < kMaxStreams; ++i, stream += 2) {
    EXPECT_TRUE(Error(Frame(kHeaders, kEndHeaders, stream)).ok());
  }
  EXPECT_EQ(guard_.open_streams(), size_t{kMaxStreams});
  // A stream that ends makes room for one more.
  Server(Frame(kReset, 0, 1, 4));
  EXPECT_TRUE(Error(Frame(kHeaders, kEndHeaders, stream)).ok());
  // Trailers do not open a stream.
  EXPECT_TRUE(Error(Frame(kHeaders, kEndHeaders | kEndStream, stream)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(
      Error(Frame(kHeaders, kEndHeaders, stream + 2))));
}

TEST_F(Http2GuardTest, SmallFramesPassAtTheAllowedRate) {
  for (const uint8_t type : {kData, kSettings}) {
    guard_ = NewGuard();
    Client(std::string(kPreface));
    const std::string flood = Repeated(Frame(type, 0, 1), 100000);
    const size_t first = Client(flood);
    EXPECT_LT(first, 9 * (Http2Guard::kFirst + 2));
    EXPECT_EQ(first % 9, 0u) << "whole frames";
    EXPECT_GT(guard_.resume(), now_);
    EXPECT_EQ(Client(flood), 0u) << "not before";
    size_t frames = 0;
    for (const absl::Time end = now_ + absl::Seconds(1); now_ < end;) {
      now_ = guard_.resume();
      frames += Client(flood) / 9;
    }
    EXPECT_LT(frames, Http2Guard::kUnitsPerSecond * 1.1);
    EXPECT_GT(frames, Http2Guard::kUnitsPerSecond / 10);
  }
}

TEST_F(Http2GuardTest, ARestingConnectionSavesUpAtMostABurst) {
  now_ += absl::Hours(1);
  const std::string flood = Repeated(Frame(kData, 0, 1), 200000);
  EXPECT_LT(Client(flood) / 9, Http2Guard::kBurst + 2);
}

TEST_F(Http2GuardTest, ResetsWaitForTheServer) {
  now_ += absl::Seconds(10);
  std::string flood;
  for (uint32_t stream = 1; stream < 4000; stream += 2) {
    flood += Frame(kHeaders, kEndHeaders, stream) + Frame(kReset, 0, stream, 4);
  }
  const size_t pair = 9 + 9 + 4;
  EXPECT_EQ(Client(flood), pair * ResetStreams::kMost);
  flood.erase(0, pair * ResetStreams::kMost);
  EXPECT_EQ(Client(flood), 0u);
  // A connection that resets nothing is not delayed.
  Http2Guard other = NewGuard();
  const std::string call =
      std::string(kPreface) + Frame(kHeaders, kEndHeaders, 1, 50);
  EXPECT_EQ(other.OnClient(call, now_, &to_grpc_).value(), call.size());
  for (int i = 0; i < 100; ++i) resets_.OnDone();
  EXPECT_EQ(Client(flood), pair * 100);
  // Streams without a handler are forgotten after a while.
  now_ += absl::Seconds(0.2);
  const size_t forgotten =
      pair * static_cast<size_t>(ResetStreams::kForgottenPerSecond / 5);
  EXPECT_NEAR(static_cast<double>(Client(flood.substr(pair * 100))), forgotten,
              pair);
}

// Of one client with many connections.
TEST_F(Http2GuardTest, CallsWithoutAMessageAreBegunAtABoundedRate) {
  constexpr int kConnections = 200;
  std::string calls = std::string(kPreface);
  for (uint32_t stream = 1; stream < 2 * kMaxStreams; stream += 2) {
    calls += Frame(kHeaders, kEndHeaders, stream);
  }
  std::vector<Http2Guard> guards;
  std::vector<std::string> left(kConnections, calls);
  for (int i = 0; i < kConnections; ++i) guards.push_back(NewGuard());
  // Returns how many calls gRPC gets.
  const auto offer = [&] {
    double begun = 0;
    for (int i = 0; i < kConnections; ++i) {
      const size_t before = guards[i].open_streams();
      left[i].erase(0, guards[i].OnClient(left[i], now_, &to_grpc_).value());
      begun += static_cast<double>(guards[i].open_streams() - before);
    }
    return begun;
  };
  // Each connection has its free calls, and learns by the next that it rests.
  EXPECT_LE(offer(), BareCalls::kBurst + (BareCalls::kFree + 1) * kConnections);
  EXPECT_EQ(offer(), 0);
  EXPECT_GT(guards.back().resume(), now_);
  const absl::Time begin = now_;
  while (std::any_of(left.begin(), left.end(),
                     [](const std::string& bytes) { return !bytes.empty(); })) {
    now_ += absl::Milliseconds(1);
    offer();
  }
  const double paced = (kMaxStreams - BareCalls::kFree) * kConnections;
  EXPECT_NEAR(absl::ToDoubleSeconds(now_ - begin),
              (paced - BareCalls::kBurst) / BareCalls::kPerSecond, 0.01);
}

TEST_F(Http2GuardTest, CallsWithTheirMessageAreNotPaced) {
  constexpr uint32_t kCalls = 2 * BareCalls::kBurst;
  now_ += absl::Seconds(10);
  const std::string message = Message(3) + "abc";
  // The messages come at once, or a little later.
  uint32_t stream = 1;
  for (const uint32_t together : {1u, 10u}) {
    for (uint32_t round = 0; round < kCalls / together; ++round) {
      std::string heads, messages;
      for (uint32_t i = 0; i < together; ++i, stream += 2) {
        heads += Frame(kHeaders, kEndHeaders, stream);
        messages += Data(stream, message);
      }
      const std::string calls = heads + messages;
      ASSERT_EQ(Client(calls), calls.size()) << stream;
      for (uint32_t i = together; i > 0; --i) {
        Server(Frame(kHeaders, kEndHeaders | kEndStream, stream - 2 * i));
      }
    }
  }
}

TEST_F(Http2GuardTest, OthersHaveTheirTurnAfterAFewCalls) {
  constexpr int kStreams = 3 * Http2Guard::kHeadsATurn;
  answer_ = "";
  Server(Frame(kSettings, 0, 0) + Frame(kHeaders, kEndHeaders, 1));
  std::string calls;
  for (uint32_t stream = 3; stream < 3 + 2 * kStreams; stream += 2) {
    calls += Frame(kHeaders, kEndHeaders, stream);
  }
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(guard_.OnClient(calls, now_, &to_grpc_).value(),
              size_t{9 * Http2Guard::kHeadsATurn});
    EXPECT_TRUE(guard_.turn_over());
    EXPECT_EQ(guard_.resume(), now_);
    calls.erase(0, 9 * Http2Guard::kHeadsATurn);
  }
}

TEST_F(Http2GuardTest, AStreamResetWhileItsAnswerIsOnItsWayIsDone) {
  now_ += absl::Seconds(10);
  constexpr uint32_t kStreams = 4 * ResetStreams::kMost;
  for (uint32_t stream = 1; stream < 2 * kStreams; stream += 2) {
    const std::string call =
        Frame(kHeaders, kEndHeaders, stream) + Frame(kReset, 0, stream, 4);
    ASSERT_EQ(Client(call), call.size()) << stream;
    Server(Frame(kHeaders, kEndHeaders | kEndStream, stream));
  }
}

TEST_F(Http2GuardTest, ProvokingTheServersResetCostsAsMuch) {
  now_ += absl::Seconds(10);
  const int times = 100000;
  for (uint32_t stream = 1; stream < 2 * times; stream += 2) {
    if (Client(Frame(kHeaders, kEndHeaders, stream)) == 0) break;
    Server(Frame(kReset, 0, stream, 4));
  }
  EXPECT_LT(guard_.open_streams(), 2u);
  EXPECT_GT(guard_.resume(), now_ + absl::Milliseconds(1));
  EXPECT_EQ(Client(Frame(kHeaders, kEndHeaders, 2 * times + 1)), 0u);
}

TEST_F(Http2GuardTest, LargeMessagesHoldRoomUntilTheyAreComplete) {
  for (const size_t piece : {1, 3, 1000, 100000}) {
    guard_ = NewGuard();
    Client(std::string(kPreface) + Frame(kHeaders, kEndHeaders, 1), piece);
    constexpr uint32_t kBytes = 40000;
    // Two messages of one stream, the second padded.
    Client(Data(1, Message(kBytes) + std::string(15000, 'x')), piece);
    EXPECT_EQ(incoming(), kBytes);
    Client(Data(1, std::string(15000, 'x')), piece);
    Client(Data(1, std::string(10000, 'x') + Message(kBytes)), piece);
    EXPECT_EQ(incoming(), 0) << "its first byte is still to come";
    Client(Data(1, std::string(1, 2) + std::string(3, 'x') + "pp", kPadded),
           piece);
    EXPECT_EQ(incoming(), kBytes);
    Client(Data(1, std::string(kBytes - 3, 'x')), piece);
    EXPECT_EQ(incoming(), 0);
    // A message whose stream ends in the middle.
    Client(Data(1, Message(kBytes) + "x"), piece);
    EXPECT_EQ(incoming(), kBytes);
    Client(Frame(kReset, 0, 1, 4), piece);
    EXPECT_EQ(incoming(), 0);
  }
}

TEST_F(Http2GuardTest, LargeMessagesWaitForMemory) {
  Client(Frame(kHeaders, kEndHeaders, 1) + Frame(kHeaders, kEndHeaders, 3));
  SetMemory(kLimit);
  const std::string head =
      Frame(kData, 0, 1, 5 + 20000).substr(0, 9) + Message(20000);
  const std::string rest(20000, 'x');
  EXPECT_EQ(Client(head + rest), head.size());
  EXPECT_GT(guard_.resume(), now_);
  EXPECT_EQ(Client(rest), 0u) << "still none";
  SetMemory(kLimit / 2);
  EXPECT_EQ(Client(rest), rest.size());
  EXPECT_EQ(incoming(), 0);
}

// As a proxy's: what waits for room would hold up the other clients.
TEST_F(Http2GuardTest, WithoutRoomACallBesideAnotherClientsIsRefused) {
  // gRPC has answered a call, so answers may come before its own.
  Server(Frame(kSettings, 0, 0) + Frame(kHeaders, kEndHeaders, 99));
  Client(Frame(kHeaders, kEndHeaders, 1));
  client_ = 1;
  Client(Frame(kHeaders, kEndHeaders, 3));
  SetMemory(kLimit);
  const std::string refused = Data(1, Message(20000) + std::string(9000, 'x'));
  EXPECT_EQ(Client(refused), refused.size());
  // gRPC gets the frame's rest, and drops it with the stream.
  std::string reset;
  AppendReset(1, ResetCode::kCancel, &reset);
  EXPECT_EQ(to_grpc_, refused + reset);
  EXPECT_EQ(incoming(), 0);
  EXPECT_EQ(guard_.open_streams(), 1u);
  std::string answer;
  AppendHeaders(1, kEndStream, "no room", &answer);
  AppendReset(1, ResetCode::kNoError, &answer);
  EXPECT_EQ(Server(""), answer);
  // What was on its way passes no more, and its window is returned.
  const std::string late = Data(1, std::string(9000, 'x'));
  EXPECT_EQ(Client(late), late.size());
  EXPECT_EQ(to_grpc_, "");
  const std::string small = Data(3, Message(1) + "x");
  EXPECT_EQ(Client(small), small.size());
  EXPECT_EQ(to_grpc_, small);
}

// gRPC may have begun to answer it.
TEST_F(Http2GuardTest, WithoutRoomACallThatHasBegunIsReset) {
  Server(Frame(kSettings, 0, 0));
  Client(Frame(kHeaders, kEndHeaders, 1) + Data(1, Message(1) + "x"));
  client_ = 1;
  Client(Frame(kHeaders, kEndHeaders, 3));
  SetMemory(kLimit);
  const std::string refused = Data(1, Message(20000) + std::string(9000, 'x'));
  EXPECT_EQ(Client(refused, 1000), refused.size());
  std::string reset;
  AppendReset(1, ResetCode::kEnhanceYourCalm, &reset);
  EXPECT_EQ(Server(""), reset);
}

// Another client's first call may be next.
TEST_F(Http2GuardTest, WithoutRoomACallWhoseClientIsNamedIsReset) {
  Server(Frame(kSettings, 0, 0));
  named_ = true;
  Client(Frame(kHeaders, kEndHeaders, 1));
  SetMemory(kLimit);
  const std::string refused = Data(1, Message(20000) + std::string(9000, 'x'));
  EXPECT_EQ(Client(refused), refused.size());
  std::string reset;
  AppendReset(1, ResetCode::kEnhanceYourCalm, &reset);
  EXPECT_EQ(Server(""), reset);
  EXPECT_EQ(incoming(), 0);
}

TEST_F(Http2GuardTest, OnlyManySmallMessagesWait) {
  SetMemory(kLimit);
  uint32_t passed = 0;
  for (uint32_t stream = 1; stream < 2 * kMaxStreams; stream += 2) {
    Client(Frame(kHeaders, kEndHeaders, stream));
    const std::string data = Data(stream, Message(16 << 10) + "x");
    if (Client(data) < data.size()) break;
    ++passed;
  }
  EXPECT_EQ(passed, MessageReader::kSmallOfAConnection / (16 << 10));
}

TEST_F(Http2GuardTest, RoomOfASlowMessageIsGivenToOthers) {
  Client(Frame(kHeaders, kEndHeaders, 1));
  Client(Data(1, Message(49 << 20) + "x"));
  EXPECT_EQ(incoming(), 49 << 20);
  Http2Guard other = NewGuard();
  std::swap(guard_, other);
  Client(std::string(kPreface) + Frame(kHeaders, kEndHeaders, 1));
  const std::string head =
      Frame(kData, 0, 1, 6).substr(0, 9) + Message(40 << 20);
  EXPECT_EQ(Client(head + "x"), head.size());
  now_ += absl::Seconds(IncomingMessages::kLastsSeconds);
  EXPECT_EQ(Client("x"), 1u);
  EXPECT_EQ(incoming(), 40 << 20);
  // The slow message asks again for the rest.
  std::swap(guard_, other);
  EXPECT_EQ(Client(Data(1, "x")), 9u);
}

// gRPC keeps what has come of it, however little is missing.
TEST_F(Http2GuardTest, ALargeMessageThatTakesTooLongIsReset) {
  Server(Frame(kSettings, 0, 0));
  const auto begin = [this](uint32_t stream) {
    Client(Frame(kHeaders, kEndHeaders, stream) +
           Data(stream, Message(20000) + "x"));
  };
  Client(Frame(kHeaders, kEndHeaders, 1));
  EXPECT_EQ(guard_.late_at(), absl::InfiniteFuture());
  begin(3);
  const absl::Time late = now_ + Http2Guard::kMessageTime;
  EXPECT_EQ(guard_.late_at(), late);
  now_ += absl::Seconds(1);
  begin(5);
  now_ = late - absl::Milliseconds(1);
  Client(Data(3, "x"));
  EXPECT_EQ(guard_.open_streams(), 3u);
  now_ = late;
  std::string to_grpc, cancel, calm;
  EXPECT_TRUE(guard_.EndLate(now_, &to_grpc).ok());
  AppendReset(3, ResetCode::kCancel, &cancel);
  AppendReset(3, ResetCode::kEnhanceYourCalm, &calm);
  EXPECT_EQ(to_grpc, cancel);
  EXPECT_EQ(Server(""), calm);
  EXPECT_EQ(guard_.open_streams(), 2u);
  EXPECT_EQ(guard_.late_at(), late + absl::Seconds(1));
  // A message that ends is not late, and the next one has its own time.
  Client(Data(5, std::string(10000, 'x')) + Data(5, std::string(9999, 'x')));
  now_ += absl::Seconds(10);
  Client(Data(5, Message(20000) + "x"));
  EXPECT_TRUE(guard_.EndLate(now_, &to_grpc).ok());
  EXPECT_EQ(guard_.late_at(), now_ + Http2Guard::kMessageTime);
  EXPECT_EQ(guard_.open_streams(), 2u);
}

TEST_F(Http2GuardTest, AFrameOfALateMessageThatNeverEndsEndsTheConnection) {
  const std::string data = Data(1, Message(20000) + std::string(9000, 'x'));
  Client(Frame(kHeaders, kEndHeaders, 1) + data.substr(0, 1000));
  std::string to_grpc;
  now_ += Http2Guard::kMessageTime;
  EXPECT_TRUE(guard_.EndLate(now_, &to_grpc).ok());
  EXPECT_EQ(to_grpc, "");
  EXPECT_GT(guard_.late_at(), now_);
  now_ += Http2Guard::kMessageTime;
  EXPECT_TRUE(absl::IsResourceExhausted(guard_.EndLate(now_, &to_grpc)));
}

TEST_F(Http2GuardTest, MessagesThatGrpcRefusesNeedNoRoom) {
  Client(Frame(kHeaders, kEndHeaders, 1));
  SetMemory(kLimit);
  const std::string data = Data(1, Message(51 << 20) + "x");
  EXPECT_EQ(Client(data), data.size());
  EXPECT_EQ(incoming(), 0);
}

TEST_F(Http2GuardTest, RewritesHeaders) {
  // gRPC gets fields from the client's table in full, without padding and
  // priority.
  const std::string first = std::string("\x40\1a\1b", 5) + "\x83";
  const std::string padded =
      std::string(1, 2) + std::string(5, '\0') + "\xbe" + "pp";
  for (const size_t piece : {1, 8, 100000}) {
    guard_ = NewGuard();
    Client(std::string(kPreface) + Frame(kHeaders, kEndHeaders, 1, first),
           piece);
    EXPECT_EQ(to_grpc_,
              std::string(kPreface) +
                  Frame(kHeaders, kEndHeaders, 1,
                        WriteFields({{"a", "b"}, {":method", "POST"}})));
    Client(Frame(kHeaders, kEndStream | kPadded | kPrioritized, 3, padded) +
               Frame(kContinuation, kEndHeaders, 3, "\xbe"),
           piece);
    EXPECT_EQ(to_grpc_, Frame(kHeaders, kEndStream | kEndHeaders, 3,
                              WriteFields({{"a", "b"}, {"a", "b"}})));
  }
  // A field that must not be indexed stays so.
  Client(Frame(kHeaders, kEndHeaders, 5, std::string("\x10\1a\1b", 5)));
  EXPECT_EQ(to_grpc_,
            Frame(kHeaders, kEndHeaders, 5, std::string("\x10\1a\1b", 5)));
  // A long block needs several frames.
  std::string large;
  AppendHeaders(7, 0, WriteFields({{"a", std::string(20000, 'x')}}), &large);
  Client(large);
  EXPECT_EQ(to_grpc_, large);
}

TEST_F(Http2GuardTest, EndsAConnectionWithInvalidHeaders) {
  const std::string bad[] = {
      Frame(kHeaders, kEndHeaders, 1, "\xff"),           // no block
      Frame(kHeaders, kEndHeaders, 1, "\xbe"),           // no such field
      Frame(kHeaders, kEndHeaders | kPadded, 1, "\2a"),  // all padding
      Frame(kHeaders, 0, 1) + Frame(kContinuation, kEndHeaders, 3),
      Frame(kHeaders, 0, 1) + Frame(kData, 0, 1),
      Frame(kContinuation, kEndHeaders, 1),
  };
  for (const std::string& bytes : bad) {
    guard_ = NewGuard();
    EXPECT_TRUE(absl::IsInvalidArgument(Error(std::string(kPreface) + bytes)));
  }
  // A header bomb: a field of 4,000 bytes, referred to again and again.
  guard_ = NewGuard();
  const std::string big =
      "\x40\x01"
      "a"
      "\x7f\xa1\x1e" +
      std::string(4000, 'x');
  EXPECT_TRUE(absl::IsResourceExhausted(
      Error(std::string(kPreface) +
            Frame(kHeaders, kEndHeaders, 1, big + std::string(100, '\xbe')))));
}

class RefusingGuardTest : public Http2GuardTest {
 protected:
  // gRPC has answered a call, so the settings are known.
  RefusingGuardTest() {
    Client(Frame(kSettings, 0, 0) +
           Frame(kHeaders, kEndHeaders | kEndStream, 1, "\x83"));
    Server(Frame(kSettings, kAcknowledges, 0) +
           Frame(kHeaders, kEndHeaders | kEndStream, 1, "\x88"));
    answer_ = WriteFields({{"grpc-status", "8"}});
  }
  std::string Answer(uint32_t stream) const {
    return Frame(kHeaders, kEndHeaders | kEndStream, stream, *answer_);
  }
  static std::string Window(uint32_t bytes) {
    std::string payload;
    AppendNumber(bytes, 4, &payload);
    return Frame(kWindowUpdate, 0, 0, payload);
  }
};

TEST_F(RefusingGuardTest, GrpcNeverSeesARefusedCall) {
  const std::string call =
      Frame(kHeaders, kEndHeaders, 3, std::string("\x40\1a\1b", 5)) +
      Data(3, Message(20) + std::string(20, 'x'), kEndStream) +
      Frame(kWindowUpdate, 0, 3, 4) + Frame(kReset, 0, 3, 4);
  EXPECT_EQ(Client(call), call.size());
  EXPECT_EQ(to_grpc_, "");
  EXPECT_EQ(FindField(seen_, "a"), "b");
  EXPECT_EQ(guard_.open_streams(), 0u);
  // Resets the stream, because the client has not sent everything.
  EXPECT_EQ(Server(""), Answer(3) + Frame(kReset, 0, 3, std::string(4, '\0')));
  // A call that was complete, and trailers for a stream that has ended.
  Client(Frame(kHeaders, kEndHeaders | kEndStream, 5, "\xbe") +
         Frame(kHeaders, kEndHeaders | kEndStream, 3, "\xbe"));
  EXPECT_EQ(to_grpc_, "");
  EXPECT_EQ(Server(""), Answer(5));
  // gRPC gets the next call, with the field that the refused call put into the
  // table.
  answer_.reset();
  Client(Frame(kHeaders, kEndHeaders, 7, "\xbe"));
  EXPECT_EQ(to_grpc_,
            Frame(kHeaders, kEndHeaders, 7, WriteFields({{"a", "b"}})));
  EXPECT_EQ(guard_.open_streams(), 1u);
}

TEST_F(RefusingGuardTest, ReturnsTheWindowOfDataThatGrpcDoesNotGet) {
  std::string said;
  Client(Frame(kHeaders, kEndHeaders, 3));
  Server("");
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(said, "");
    Client(Data(3, std::string(1024, 'x')));
    EXPECT_EQ(to_grpc_, "");
    said = Server("");
  }
  EXPECT_EQ(said, Window(8192));
}

TEST_F(RefusingGuardTest, SendsItsFramesBetweenGrpcs) {
  Client(Frame(kHeaders, kEndHeaders | kEndStream, 3));
  const std::string first = Frame(kHeaders, 0, 5, 10);
  const std::string rest = Frame(kContinuation, kEndHeaders, 5, 10);
  const std::string data = Data(5, std::string(100, 'x'));
  EXPECT_EQ(Server(first.substr(0, 4)), Answer(3) + first.substr(0, 4));
  Client(Frame(kHeaders, kEndHeaders | kEndStream, 7));
  EXPECT_EQ(Server(first.substr(4)), first.substr(4));
  EXPECT_EQ(Server(rest + data.substr(0, 20)),
            rest + Answer(7) + data.substr(0, 20));
  Client(Frame(kHeaders, kEndHeaders | kEndStream, 9));
  EXPECT_EQ(Server(""), "");
  EXPECT_EQ(guard_.unsaid(), Answer(9).size());
  EXPECT_EQ(Server(data.substr(20)), data.substr(20) + Answer(9));
}

TEST_F(Http2GuardTest, SendsGoAwayAfterTheSettingsAndBetweenFrames) {
  guard_.GoAway();
  EXPECT_EQ(Server(""), "");
  std::string away = Frame(
      kGoAway, 0, 0, std::string("\x7f\xff\xff\xff") + std::string(4, '\0'));
  const std::string settings = Frame(kSettings, 0, 0, 6);
  EXPECT_EQ(Server(settings.substr(0, 12)), settings.substr(0, 12));
  EXPECT_EQ(Server(settings.substr(12)), settings.substr(12) + away);
  // Calls that cross the GOAWAY are served.
  EXPECT_EQ(Client(Frame(kHeaders, kEndHeaders | kEndStream, 1)), 9u);
  EXPECT_EQ(guard_.open_streams(), 1u);
}

TEST_F(RefusingGuardTest, RefusesOnlyAfterGrpcHasAnnouncedItsTableSize) {
  // The client may have asked for a smaller table.
  Client(Frame(kSettings, 0, 0, 6));
  for (int i = 0; i < 3; ++i) {
    Client(Frame(kHeaders, kEndHeaders, 3 + 2 * i));
    EXPECT_EQ(guard_.open_streams(), 1u + i);
    if (i == 0) Server(Frame(kHeaders, kEndHeaders, 3, 1));
    if (i == 1) Server(Frame(kSettings, kAcknowledges, 0));
    if (i == 2) Server(Frame(kHeaders, kEndHeaders, 5, 1));
  }
  Client(Frame(kHeaders, kEndHeaders | kEndStream, 9));
  EXPECT_EQ(guard_.open_streams(), 3u);
  EXPECT_EQ(Server(""), Answer(9));
}

TEST_F(RefusingGuardTest, RefusesNoFasterThanTheClientReads) {
  now_ += absl::Seconds(1);
  std::string calls;
  for (uint32_t stream = 3; stream < 20000; stream += 2) {
    calls += Frame(kHeaders, kEndHeaders | kEndStream, stream);
  }
  const size_t first = Client(calls);
  EXPECT_LT(first, calls.size());
  EXPECT_LT(guard_.unsaid(), Http2Guard::kMostMade + 100);
  EXPECT_EQ(Client(calls.substr(first)), 0u);
  EXPECT_EQ(Server("").size() / Answer(3).size(), first / 9);
  EXPECT_GT(Client(calls.substr(first)), 0u);
}

}  // namespace
}  // namespace trivium
