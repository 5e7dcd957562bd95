#ifndef TRIVIUM_BASE_REPEATING_THREAD_H_
#define TRIVIUM_BASE_REPEATING_THREAD_H_

#include <functional>
#include <thread>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace trivium {

// Calls `work` every `interval` on its own thread until it is destroyed; the
// destructor waits for a running call. Throws std::system_error if no thread
// can be started. As a member, declare it after everything that `work` uses.
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
