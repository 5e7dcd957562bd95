#include "base/repeating_thread.h"

#include <utility>

#include "absl/time/clock.h"

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
      const absl::Time next = absl::Now() + interval_;
      while (!stopping_ && absl::Now() < next) {
        changed_.WaitFor(&mutex_, next - absl::Now());
      }
      if (stopping_) return;
    }
    work_();
  }
}

}  // namespace trivium
