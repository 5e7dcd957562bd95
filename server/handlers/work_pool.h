#ifndef TRIVIUM_SERVER_HANDLERS_WORK_POOL_H_
#define TRIVIUM_SERVER_HANDLERS_WORK_POOL_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace trivium {

// A few threads for work that must hold up neither gRPC's callback threads
// (tokenizing long texts) nor the batcher's workers (making texts of results).
// The queue needs no bound of its own: each call has at most one piece of work
// in it. Thread-safe. The destructor does what is queued, then returns.
class WorkPool {
 public:
  explicit WorkPool(int threads);
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  void Run(std::function<void()> work);

 private:
  void Loop();

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HANDLERS_WORK_POOL_H_
