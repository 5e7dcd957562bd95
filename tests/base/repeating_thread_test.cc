#include "base/repeating_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

namespace trivium {
namespace {

TEST(RepeatingThreadTest, CallsRepeatedlyUntilItIsDestroyed) {
  std::atomic<int> calls = 0;
  // The work owns it, so it lives as long as the work may be called.
  auto owned = std::make_shared<int>();
  const std::weak_ptr<int> callable = owned;
  {
    const RepeatingThread thread(
        absl::Milliseconds(1), [&calls, owned = std::move(owned)] { ++calls; });
    while (calls < 3) std::this_thread::yield();
  }
  EXPECT_TRUE(callable.expired());
}

TEST(RepeatingThreadTest, DestructionDoesNotWaitForTheInterval) {
  const RepeatingThread thread(absl::Hours(1), [] { FAIL(); });
}

}  // namespace
}  // namespace trivium
