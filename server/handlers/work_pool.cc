#include "server/handlers/work_pool.h"

#include <utility>

namespace trivium {

WorkPool::WorkPool(int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Loop(); });
  }
}

WorkPool::~WorkPool() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.SignalAll();
  for (std::thread& thread : threads_) thread.join();
}

void WorkPool::Run(std::function<void()> work) {
  MutexLock lock(&mutex_);
  queue_.push_back(std::move(work));
  // Under the lock: the work may be the last of its call, and the pool gone
  // as soon as it is done.
  changed_.Signal();
}

void WorkPool::Loop() {
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(&mutex_);
      while (queue_.empty() && !stopping_) changed_.Wait(&mutex_);
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace trivium
