#include "server/rpc/http2_guard.h"

#include <gtest/gtest.h>

#include <string>

namespace trivium {
namespace {

constexpr uint8_t kData = 0, kHeaders = 1, kReset = 3, kSettings = 4,
                  kContinuation = 9;
constexpr uint8_t kEndStream = 1, kEndHeaders = 4;
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string Frame(uint8_t type, uint8_t flags, uint32_t stream,
                  size_t bytes = 0) {
  std::string frame;
  for (const int shift : {16, 8, 0}) {
    frame += static_cast<char>(bytes >> shift);
  }
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) {
    frame += static_cast<char>(stream >> shift);
  }
  return frame + std::string(bytes, 'x');
}

class Http2GuardTest : public testing::Test {
 protected:
  Http2GuardTest() { Client(std::string(kPreface)); }

  // The bytes that pass, offered in pieces of one size.
  size_t Client(const std::string& bytes, size_t piece = SIZE_MAX) {
    size_t passed = 0;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      const std::string part = bytes.substr(at, piece);
      const absl::StatusOr<size_t> passing = guard_.OnClient(part, now_);
      EXPECT_TRUE(passing.ok()) << passing.status();
      if (!passing.ok()) return passed;
      passed += *passing;
      if (*passing < part.size()) return passed;
    }
    return passed;
  }
  absl::Status Error(const std::string& bytes) {
    return guard_.OnClient(bytes, now_).status();
  }
  static std::string Repeated(const std::string& bytes, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += bytes;
    return all;
  }

  static constexpr int kMaxStreams = 10;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  ResetStreams resets_;
  Http2Guard guard_{kMaxStreams, now_, &resets_};
};

TEST_F(Http2GuardTest, CallsPassHoweverTheyAreCut) {
  for (const size_t piece : {1, 7, 9, 100, 100000}) {
    Http2Guard guard(kMaxStreams, now_, &resets_);
    guard_ = guard;
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
        guard_.OnServer(std::string_view(answer).substr(at, piece));
      }
      EXPECT_EQ(guard_.open_streams(), 0u);
    }
  }
}

TEST_F(Http2GuardTest, WhatIsNoHttp2Ends) {
  guard_ = Http2Guard(kMaxStreams, now_, &resets_);
  EXPECT_TRUE(absl::IsInvalidArgument(Error("GET / HTTP/1.1\r\n\r\n")));
}

TEST_F(Http2GuardTest, AHeaderBlockHasAnEnd) {
  // Of HEADERS alone, of CONTINUATION with little in each, and with nothing.
  for (const size_t bytes : {16384, 5, 0}) {
    guard_ = Http2Guard(kMaxStreams, now_, &resets_);
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
  // Blocks that end are counted anew.
  guard_ = Http2Guard(kMaxStreams, now_, &resets_);
  Client(std::string(kPreface));
  for (int i = 0; i < 10; ++i) {
    now_ += absl::Seconds(1);
    EXPECT_TRUE(Error(Frame(kHeaders, 0, 1, 10000) +
                      Frame(kContinuation, kEndHeaders, 1, 10000))
                    .ok());
  }
}

TEST_F(Http2GuardTest, StreamsAtATimeAreBounded) {
  uint32_t stream = 1;
  for (int i = 0; i < kMaxStreams; ++i, stream += 2) {
    EXPECT_TRUE(Error(Frame(kHeaders, kEndHeaders, stream)).ok());
  }
  EXPECT_EQ(guard_.open_streams(), size_t{kMaxStreams});
  // One that ends makes room, for one.
  guard_.OnServer(Frame(kReset, 0, 1, 4));
  EXPECT_TRUE(Error(Frame(kHeaders, kEndHeaders, stream)).ok());
  // Trailers are no new stream.
  EXPECT_TRUE(Error(Frame(kHeaders, kEndHeaders | kEndStream, stream)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(
      Error(Frame(kHeaders, kEndHeaders, stream + 2))));
}

TEST_F(Http2GuardTest, SmallFramesPassAtTheirRate) {
  for (const uint8_t type : {kData, kSettings}) {
    guard_ = Http2Guard(kMaxStreams, now_, &resets_);
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

TEST_F(Http2GuardTest, ARestSavesUpNoMoreThanABurst) {
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
  // Another connection that resets nothing is not held up.
  Http2Guard other(kMaxStreams, now_, &resets_);
  const std::string call =
      std::string(kPreface) + Frame(kHeaders, kEndHeaders, 1, 50);
  EXPECT_EQ(other.OnClient(call, now_).value(), call.size());
  for (int i = 0; i < 100; ++i) resets_.OnDone();
  EXPECT_EQ(Client(flood), pair * 100);
  // Those that no handler hears of are forgotten in time.
  now_ += absl::Seconds(0.2);
  const size_t forgotten =
      pair * static_cast<size_t>(ResetStreams::kForgottenPerSecond / 5);
  EXPECT_NEAR(static_cast<double>(Client(flood.substr(pair * 100))), forgotten,
              pair);
}

TEST_F(Http2GuardTest, WhatMakesTheServerResetCostsAsMuch) {
  now_ += absl::Seconds(10);
  const int times = 100000;
  for (uint32_t stream = 1; stream < 2 * times; stream += 2) {
    if (Client(Frame(kHeaders, kEndHeaders, stream)) == 0) break;
    guard_.OnServer(Frame(kReset, 0, stream, 4));
  }
  EXPECT_LT(guard_.open_streams(), 2u);
  EXPECT_GT(guard_.resume(), now_ + absl::Milliseconds(1));
  EXPECT_EQ(Client(Frame(kHeaders, kEndHeaders, 2 * times + 1)), 0u);
}

}  // namespace
}  // namespace trivium
