#include "base/repeating_thread.h"

#include <utility>

#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/exceptions.h"

namespace trivium {

RepeatingThread::RepeatingThread(absl::Duration interval,
                                 std::function<void()> work)
    : interval_(interval), work_(std::move(work)), thread_([this] { Run(); }) {}

RepeatingThread::~RepeatingThread() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.SignalAll();
  thread_.join();
}

void RepeatingThread::Run() {
  while (true) {
    {
      MutexLock lock(&mutex_);
      const absl::Time next = SteadyNow() + interval_;
      while (!stopping_ && SteadyNow() < next) {
        changed_.WaitFor(&mutex_, next - SteadyNow());
      }
      if (stopping_) return;
    }
    // Without memory, the next time does it.
    CatchExceptions(work_).IgnoreError();
  }
}

}  // namespace trivium
