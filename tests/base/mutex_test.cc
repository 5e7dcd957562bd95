#include "base/mutex.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/time/clock.h"

namespace trivium {
namespace {

TEST(CondVarTest, WaitsForTheTimeout) {
  Mutex mutex;
  CondVar never;
  const absl::Time end = absl::Now() + absl::Milliseconds(5);
  MutexLock lock(&mutex);
  while (absl::Now() < end) never.WaitFor(&mutex, end - absl::Now());
}

TEST(CondVarTest, ASignalEndsAnInfiniteTimeout) {
  Mutex mutex;
  CondVar changed;
  bool done = false;
  std::thread signaller([&] {
    absl::SleepFor(absl::Milliseconds(20));
    MutexLock lock(&mutex);
    done = true;
    changed.SignalAll();
  });
  int waits = 0;
  {
    MutexLock lock(&mutex);
    for (; !done; ++waits) {
      changed.WaitFor(&mutex, absl::InfiniteDuration());
    }
  }
  signaller.join();
  // A timeout that overflowed would end at once, again and again.
  EXPECT_LT(waits, 10);
}

}  // namespace
}  // namespace trivium
