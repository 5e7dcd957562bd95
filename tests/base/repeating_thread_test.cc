#include "base/repeating_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace trivium {
namespace {

TEST(RepeatingThreadTest, CallsRepeatedlyUntilItIsDestroyed) {
  std::atomic<int> calls = 0;
  {
    const RepeatingThread thread(absl::Milliseconds(1), [&] { ++calls; });
    while (calls < 3) std::this_thread::yield();
  }
  const int before = calls;
  // A thread that still ran would call again soon.
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_EQ(calls, before);
}

TEST(RepeatingThreadTest, DestructionDoesNotWaitForTheInterval) {
  const RepeatingThread thread(absl::Hours(1), [] { FAIL(); });
}

}  // namespace
}  // namespace trivium
