#include "server/calls/call_registry.h"

#include <optional>
#include <system_error>
#include <utility>

#include "absl/time/clock.h"
#include "base/clock.h"

namespace trivium {

CallRegistry::CallRegistry(const Clock* clock, absl::Duration tick)
    : clock_(clock), tick_(tick) {
  std::optional<Thread> ticker = StartThread([this] { TickLoop(); });
  if (!ticker) {
    throw std::system_error(
        std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  ticker_ = *std::move(ticker);
}

CallRegistry::~CallRegistry() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.SignalAll();
  ticker_.join();
}

bool CallRegistry::Begin() {
  MutexLock lock(&mutex_);
  ++calls_;
  return !draining_;
}

void CallRegistry::End() {
  MutexLock lock(&mutex_);
  --calls_;
  if (draining_) changed_.SignalAll();
}

void CallRegistry::Add(Handler* stream) {
  MutexLock lock(&mutex_);
  if (streams_.empty()) changed_.SignalAll();
  streams_.insert(stream);
  if (draining_) stream->OnDrain();
}

void CallRegistry::Remove(Handler* stream) {
  MutexLock lock(&mutex_);
  streams_.erase(stream);
}

bool CallRegistry::Drain(absl::Duration timeout) {
  // CondVar waits by the machine's clock, whatever clock_ is.
  const absl::Time end = SteadyNow() + timeout;
  MutexLock lock(&mutex_);
  if (!draining_) {
    draining_ = true;
    for (Handler* stream : streams_) stream->OnDrain();
  }
  while (calls_ > 0) {
    const absl::Duration left = end - SteadyNow();
    if (left <= absl::ZeroDuration()) return false;
    changed_.WaitFor(&mutex_, left);
  }
  return true;
}

void CallRegistry::TickLoop() {
  MutexLock lock(&mutex_);
  while (!stopping_) {
    if (streams_.empty()) {
      changed_.Wait(&mutex_);
    } else {
      clock_->WaitUntil(clock_->Now() + tick_, &changed_, &mutex_);
      const absl::Time now = clock_->Now();
      for (Handler* stream : streams_) stream->OnTick(now);
    }
  }
}

}  // namespace trivium
