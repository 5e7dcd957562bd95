#ifndef TRIVIUM_BASE_THREAD_H_
#define TRIVIUM_BASE_THREAD_H_

#include <functional>
#include <optional>
#include <thread>

#include "absl/status/status.h"

namespace trivium {

// A thread that runs `run`, or nothing where the system gives none.
std::optional<std::thread> StartThread(std::function<void()> run);

// Whether the system gives `count` more threads, shown by starting them. What
// it refuses (ulimit -u, a cgroup's pids.max, memory for stacks) is
// RESOURCE_EXHAUSTED, which tells how many it gave.
absl::Status CheckThreads(int count);

}  // namespace trivium

#endif  // TRIVIUM_BASE_THREAD_H_
