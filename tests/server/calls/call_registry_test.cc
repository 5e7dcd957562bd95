#include "server/calls/call_registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace trivium {
namespace {

TEST(CallRegistryTest, RefusesWhileDrainingAndWaitsForTheLast) {
  CallRegistry registry(Clock::Real());
  EXPECT_TRUE(registry.Begin());
  EXPECT_FALSE(registry.Drain(absl::ZeroDuration()));
  EXPECT_FALSE(registry.Begin());
  registry.End();
  registry.End();
  EXPECT_TRUE(registry.Drain(absl::ZeroDuration()));
}

TEST(CallRegistryTest, TicksAndDrainsStreams) {
  struct Counting : Handler {
    void Start() override {}
    void OnCancel() override {}
    void OnTick(absl::Time) override { ++ticks; }
    void OnDrain() override { ++drains; }
    std::atomic<int> ticks = 0, drains = 0;
  } early, late;
  CallRegistry registry(Clock::Real(), absl::Milliseconds(1));
  registry.Add(&early);
  while (early.ticks < 3) std::this_thread::yield();
  registry.Drain(absl::ZeroDuration());
  registry.Add(&late);
  EXPECT_EQ(early.drains, 1);
  EXPECT_EQ(late.drains, 1);
  registry.Remove(&early);
  registry.Remove(&late);
  const int ticks = early.ticks;
  std::this_thread::yield();
  EXPECT_EQ(early.ticks, ticks);
}

}  // namespace
}  // namespace trivium
