#include "server/tracing/trace_context.h"

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

namespace trivium {
namespace {

std::optional<TraceContext> ParseTraceparent(std::string_view text) {
  return ParseTraceContext(text, "");
}

constexpr char kTraceId[] = "0af7651916cd43dd8448eb211c80319c";
constexpr char kSpanId[] = "b7ad6b7169203331";

std::string Traceparent(const std::string& flags,
                        const std::string& version = "00") {
  return version + "-" + kTraceId + "-" + kSpanId + "-" + flags;
}

TEST(TraceContextTest, ReadsTheCallersIdsAndFlag) {
  const auto sampled = ParseTraceparent(Traceparent("01"));
  ASSERT_TRUE(sampled);
  EXPECT_EQ(absl::BytesToHexString(sampled->trace_id), kTraceId);
  EXPECT_EQ(absl::BytesToHexString(sampled->span_id), kSpanId);
  EXPECT_TRUE(sampled->sampled);
  EXPECT_FALSE(ParseTraceparent(Traceparent("00"))->sampled);
  // Other flags are ignored.
  EXPECT_FALSE(ParseTraceparent(Traceparent("fe"))->sampled);
  EXPECT_TRUE(ParseTraceparent(Traceparent("03"))->sampled);
  // A later version may append more fields.
  EXPECT_TRUE(ParseTraceparent(Traceparent("01", "cc")));
  EXPECT_TRUE(ParseTraceparent(Traceparent("01", "cc") + "-what-else"));
}

TEST(TraceContextTest, IgnoresInvalidContexts) {
  const std::string good = Traceparent("01");
  const std::string zeros(32, '0');
  for (const std::string& bad :
       {std::string(), good.substr(1), good + "0", good + "-00",
        Traceparent("01", "ff"), Traceparent("01", "0x"), Traceparent("0g"),
        Traceparent("01", "cc") + "x", "00-" + zeros + "-" + kSpanId + "-01",
        std::string("00-") + kTraceId + "-" + zeros.substr(16) + "-01",
        "00-" + std::string(32, 'A') + "-" + kSpanId + "-01",
        "00_" + good.substr(3), good.substr(0, 35) + "_" + good.substr(36),
        std::string(good.size(), '-'), std::string(1 << 16, '0')}) {
    EXPECT_FALSE(ParseTraceparent(bad)) << bad.substr(0, 80);
  }
}

TEST(TraceContextTest, ReadsTheCallersState) {
  const auto state = [](const std::string& tracestate) {
    return ParseTraceContext(Traceparent("01"), tracestate)->state;
  };
  EXPECT_EQ(state(""), "");
  EXPECT_EQ(state("rojo=00f067aa0ba902b7"), "rojo=00f067aa0ba902b7");
  EXPECT_EQ(state("a=1 , fw529a3039@dt=x y!,\t,0b/c_-*=2"),
            "a=1,fw529a3039@dt=x y!,0b/c_-*=2");
  std::string many = "k0=v";
  for (int i = 1; i < 32; ++i) many += ",k" + std::to_string(i) + "=v";
  EXPECT_EQ(state(many), many);
  for (const std::string& bad :
       {std::string("a"), std::string("=1"), std::string("a="),
        std::string("A=1"), std::string("_a=1"), std::string("a@b@c=1"),
        std::string("a=1=2"), std::string("a=\x01"), std::string("a=\xff"),
        std::string("a=1,b"), std::string("a=1,a=2"), many + ",more=v",
        "a=" + std::string(300, 'x'), std::string(1 << 16, ',')}) {
    EXPECT_EQ(state(bad), "") << bad.substr(0, 80);
  }
  // A tracestate without a traceparent belongs to no trace.
  EXPECT_FALSE(ParseTraceContext("", "a=1"));
}

TEST(TraceContextTest, NewIdsDiffer) {
  EXPECT_EQ(NewTraceId().size(), 16u);
  EXPECT_EQ(NewSpanId().size(), 8u);
  EXPECT_NE(NewTraceId(), NewTraceId());
  EXPECT_NE(NewSpanId(), NewSpanId());
}

}  // namespace
}  // namespace trivium
