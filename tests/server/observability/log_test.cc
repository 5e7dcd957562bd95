#include "server/observability/log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace trivium {
namespace {

TEST(LogTest, TextIsOneReadableLine) {
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "request",
                          {{"id", "a1"},
                           {"error", "line\nbreak \"quoted\""},
                           {"empty", ""},
                           {"count", 3},
                           {"ms", 1.5}}),
            "request id=a1 error=\"line\\nbreak \\\"quoted\\\"\" empty=\"\" "
            "count=3 ms=1.5");
}

TEST(LogTest, AnyTextGivesValidJson) {
  const std::string line =
      "{" +
      FormatLogLine(LogFormat::kJson, "a \"message\"\n",
                    {{"bytes", std::string("\xff\x00\x1b", 3)}, {"n", -1}}) +
      "}";
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["message"], "a \"message\"\n");
  EXPECT_EQ(json["n"], -1);
  EXPECT_EQ(json["bytes"], std::string("\xEF\xBF\xBD\x00\x1b", 5));
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(LogTest, RefusesUnknownLevels) {
  EXPECT_FALSE(InitLog("loud", LogFormat::kText).ok());
  EXPECT_TRUE(InitLog("warn", LogFormat::kText).ok());
  EXPECT_FALSE(LogEnabled(spdlog::level::debug));
  EXPECT_TRUE(InitLog("debug", LogFormat::kText).ok());
  EXPECT_TRUE(LogEnabled(spdlog::level::debug));
}

TEST(LogTest, ALimitCountsTheLinesThatItLeavesOut) {
  LogLimit limit;
  absl::Time now = absl::UnixEpoch();
  int64_t left_out = -1;
  for (int i = 0; i < LogLimit::kLines; ++i) {
    EXPECT_TRUE(limit.Allow(now, &left_out));
    EXPECT_EQ(left_out, 0);
  }
  EXPECT_FALSE(limit.Allow(now + absl::Seconds(59), &left_out));
  EXPECT_FALSE(limit.Allow(now + absl::Seconds(59), &left_out));
  now += absl::Minutes(1);
  EXPECT_TRUE(limit.Allow(now, &left_out));
  EXPECT_EQ(left_out, 2);
  EXPECT_TRUE(limit.Allow(now, &left_out));
  EXPECT_EQ(left_out, 0);
}

}  // namespace
}  // namespace trivium
