#include "server/observability/refusal_log.h"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(RefusalLogTest, LogsTheFirstAtOnceAndTheOthersOnceASecond) {
  std::vector<std::pair<int64_t, std::string>> lines;
  {
    RefusalLog log([&](int64_t calls, const std::string& last) {
      lines.emplace_back(calls, last);
    });
    absl::Time now = absl::FromUnixSeconds(1000);
    log.Tick(now);
    EXPECT_TRUE(lines.empty());
    log.Count(now, "full");
    EXPECT_THAT(lines, ElementsAre(Pair(1, "full")));
    for (int i = 0; i < 500; ++i) {
      now += absl::Milliseconds(1);
      log.Count(now, "late");
    }
    EXPECT_EQ(lines.size(), 1u);
    log.Tick(now + absl::Milliseconds(500));
    EXPECT_THAT(lines, ElementsAre(Pair(1, "full"), Pair(500, "late")));
    log.Tick(now + absl::Seconds(10));
    log.Count(now + absl::Milliseconds(600), "last");
    EXPECT_EQ(lines.size(), 2u);
  }
  EXPECT_THAT(lines.back(), Pair(1, "last"));
}

}  // namespace
}  // namespace trivium
