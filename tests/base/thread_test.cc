#include "base/thread.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "base/team.h"

namespace trivium {
namespace {

TEST(ThreadTest, StartsAThread) {
  std::atomic<bool> ran = false;
  auto thread = StartThread([&ran] { ran = true; });
  ASSERT_TRUE(thread.has_value());
  thread->join();
  EXPECT_TRUE(ran);
  EXPECT_TRUE(CheckThreads(50).ok());
}

// Runs in a separate process with a limit of its own: address space for only a
// few stacks.
TEST(ThreadDeathTest, ReportsThreadsThatTheSystemRefuses) {
  const auto refused = [] {
    const rlimit none{256 << 20, 256 << 20};
    if (setrlimit(RLIMIT_AS, &none) != 0) _exit(2);
    const absl::Status status = CheckThreads(4096);
    if (!absl::IsResourceExhausted(status)) _exit(3);
    // A smaller team does the same work.
    Team team(4096);
    if (team.threads() >= 4096) _exit(4);
    std::atomic<int> items = 0;
    team.Run(10000, 1,
             [&items](int begin, int end, int) { items += end - begin; });
    _exit(items == 10000 ? 0 : 5);
  };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers map more than any such limit";
#endif
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(refused(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace trivium
