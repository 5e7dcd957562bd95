#ifndef TRIVIUM_BASE_THREAD_H_
#define TRIVIUM_BASE_THREAD_H_

#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"

namespace trivium {

// A running thread: a std::thread, or one that a ThreadSource started.
class Thread {
 public:
  Thread() = default;
  explicit Thread(std::thread thread) : own_(std::move(thread)) {}
  // `join` waits for the thread's end; it is called once.
  explicit Thread(std::function<void()> join) : join_(std::move(join)) {}

  // Waits for the thread's end; does nothing if it never started. Must be
  // called once, unless the thread is detached.
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

// Starts a thread that runs `run`; nullopt if the system refuses.
std::optional<Thread> StartThread(std::function<void()> run);

// Checks, by starting them, that the system allows `count` more threads.
// RESOURCE_EXHAUSTED tells how many it allowed (limits are ulimit -u, a
// cgroup's pids.max, and memory for stacks).
absl::Status CheckThreads(int count);

// Runs `run` on a thread immediately and returns a function that waits for its
// end; null if there is no thread.
using ThreadSource =
    std::function<std::function<void()>(std::function<void()> run)>;

// While it lives, StartThread on the thread that created it uses `source`,
// unless that is null. So a program that embeds the library decides where its
// threads come from.
class UseThreadSource {
 public:
  explicit UseThreadSource(ThreadSource source);
  ~UseThreadSource();
  UseThreadSource(const UseThreadSource&) = delete;
  UseThreadSource& operator=(const UseThreadSource&) = delete;

 private:
  const ThreadSource source_;
  const ThreadSource* const before_;
};

}  // namespace trivium

#endif  // TRIVIUM_BASE_THREAD_H_
