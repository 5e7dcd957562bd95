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
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(calls, before);
}

TEST(RepeatingThreadTest, DestructionDoesNotWaitForTheInterval) {
  const RepeatingThread thread(absl::Hours(1), [] { FAIL(); });
}

}  // namespace
}  // namespace trivium
