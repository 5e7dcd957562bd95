#ifndef TRIVIUM_BASE_THREAD_H_
#define TRIVIUM_BASE_THREAD_H_

#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"

namespace trivium {

// A thread that runs: std::thread, or what a ThreadSource gave.
class Thread {
 public:
  Thread() = default;
  explicit Thread(std::thread thread) : own_(std::move(thread)) {}
  // `join` waits for its end; it is called once.
  explicit Thread(std::function<void()> join) : join_(std::move(join)) {}

  // Once, unless it is detached. Of a thread that was never started: nothing.
  void join() {
    if (own_.joinable()) own_.join();
    if (join_) std::exchange(join_, nullptr)();
  }
  void detach() {
    if (own_.joinable()) own_.detach();
    join_ = nullptr;
  }
  bool joinable() const { return own_.joinable() || join_ != nullptr; }

 private:
  std::thread own_;
  std::function<void()> join_;
};

// A thread that runs `run`, or nothing where the system gives none.
std::optional<Thread> StartThread(std::function<void()> run);

// Whether the system gives `count` more threads, shown by starting them. What
// it refuses (ulimit -u, a cgroup's pids.max, memory for stacks) is
// RESOURCE_EXHAUSTED, which tells how many it gave.
absl::Status CheckThreads(int count);

// Runs `run` on a thread, at once, and returns what waits for its end; null
// where there is no thread.
using ThreadSource =
    std::function<std::function<void()>(std::function<void()> run)>;

// While it lives, StartThread on the thread that made it takes threads of
// `source`, unless that is null: so a program that has this one's parts inside
// says where their threads come from.
class UseThreadSource {
 public:
  explicit UseThreadSource(const ThreadSource& source);
  ~UseThreadSource();
  UseThreadSource(const UseThreadSource&) = delete;
  UseThreadSource& operator=(const UseThreadSource&) = delete;

 private:
  const ThreadSource* const before_;
};

}  // namespace trivium

#endif  // TRIVIUM_BASE_THREAD_H_
