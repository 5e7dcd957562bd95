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
  int waits = 0;
  std::thread signaller([&] {
    // Whenever this thread has the mutex after the first wait has begun, the
    // other thread waits. If the timeout overflowed, it would end at once, and
    // another wait would begin between these looks.
    int seen = 0;
    for (int looks = 0; looks < 100 && seen<10; looks += seen> 0) {
      std::this_thread::yield();
      MutexLock lock(&mutex);
      seen = waits;
    }
    MutexLock lock(&mutex);
    done = true;
    changed.SignalAll();
  });
  {
    MutexLock lock(&mutex);
    while (!done) {
      ++waits;
      changed.WaitFor(&mutex, absl::InfiniteDuration());
    }
  }
  signaller.join();
  EXPECT_LT(waits, 10);
}

}  // namespace
}  // namespace trivium
