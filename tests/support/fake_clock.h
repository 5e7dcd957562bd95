#ifndef TRIVIUM_TESTS_SUPPORT_FAKE_CLOCK_H_
#define TRIVIUM_TESTS_SUPPORT_FAKE_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace trivium {

// Stands still until the test moves it. Thread-safe.
class FakeClock : public Clock {
 public:
  absl::Time Now() const override {
    MutexLock lock(&mutex_);
    return now_;
  }
  void Advance(absl::Duration by) {
    MutexLock lock(&mutex_);
    now_ += by;
  }

 private:
  mutable Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1'000'000);
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_FAKE_CLOCK_H_
