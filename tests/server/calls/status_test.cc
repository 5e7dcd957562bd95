#include "server/errors/status.h"

#include <gtest/gtest.h>

namespace trivium {
namespace {

TEST(StatusTest, DelaysAreSpread) {
  for (int i = 0; i < 100; ++i) {
    const absl::Status status =
        WithRetry(absl::ResourceExhaustedError("full"), absl::Seconds(2));
    EXPECT_GE(*RetryDelay(status), absl::Seconds(2));
    EXPECT_LE(*RetryDelay(status), absl::Seconds(3));
  }
  EXPECT_FALSE(RetryDelay(absl::InternalError("x")));
}

TEST(StatusTest, ShortensAtCharacters) {
  EXPECT_EQ(Shorten("abc", 3), "abc");
  EXPECT_EQ(Shorten("aé€", 4), "aé...");
}

}  // namespace
}  // namespace trivium
