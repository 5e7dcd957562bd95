#ifndef TRIVIUM_TESTS_SUPPORT_FAKE_CLOCK_H_
#define TRIVIUM_TESTS_SUPPORT_FAKE_CLOCK_H_

#include <map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace trivium {

// Stands still until the test moves it, which wakes whom it makes late.
// Thread-safe.
class FakeClock : public Clock {
 public:
  absl::Time Now() const override {
    MutexLock lock(&mutex_);
    return now_;
  }
  void WaitUntil(absl::Time deadline, CondVar* condition,
                 Mutex* mutex) const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Sleepers::iterator self;
    {
      MutexLock lock(&mutex_);
      if (deadline <= now_) return;
      self = sleepers_.emplace(deadline, Sleeper{condition, mutex});
      fell_asleep_.SignalAll();
    }
    condition->Wait(mutex);
    MutexLock lock(&mutex_);
    sleepers_.erase(self);
  }

  // Nobody that sleeps may go away meanwhile.
  void Advance(absl::Duration by) {
    std::vector<Sleeper> late;
    {
      MutexLock lock(&mutex_);
      now_ += by;
      const auto end = sleepers_.upper_bound(now_);
      for (auto i = sleepers_.begin(); i != end; ++i) late.push_back(i->second);
    }
    for (const Sleeper& sleeper : late) {
      // With the mutex, as a sleeper in the table may not wait yet.
      MutexLock lock(sleeper.mutex);
      sleeper.condition->SignalAll();
    }
  }
  // Waits until somebody sleeps until `deadline`.
  void AwaitSleeper(absl::Time deadline) {
    MutexLock lock(&mutex_);
    while (!sleepers_.contains(deadline)) fell_asleep_.Wait(&mutex_);
  }

 private:
  struct Sleeper {
    CondVar* condition;
    Mutex* mutex;
  };
  using Sleepers = std::multimap<absl::Time, Sleeper>;

  mutable Mutex mutex_;
  mutable CondVar fell_asleep_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1'000'000);
  mutable Sleepers sleepers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_FAKE_CLOCK_H_
