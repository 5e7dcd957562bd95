#ifndef TRIVIUM_BASE_REPEATING_THREAD_H_
#define TRIVIUM_BASE_REPEATING_THREAD_H_

#include <functional>
#include <thread>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace trivium {

// Calls something every `interval`, on a thread of its own, until it is
// destroyed; that waits for a call under way. Throws std::system_error where
// the system gives no thread. A member of what it works with, it comes last.
class RepeatingThread {
 public:
  RepeatingThread(absl::Duration interval, std::function<void()> work);
  ~RepeatingThread();

 private:
  void Run();

  const absl::Duration interval_;
  const std::function<void()> work_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace trivium

#endif  // TRIVIUM_BASE_REPEATING_THREAD_H_
