#include "base/thread.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace trivium {

std::optional<std::thread> StartThread(std::function<void()> run) {
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

absl::Status CheckThreads(int count) {
  Mutex mutex;
  mutex.Lock();  // what the threads wait for
  std::vector<std::thread> threads;
  while (static_cast<int>(threads.size()) < count) {
    auto thread = StartThread([&mutex] { MutexLock lock(&mutex); });
    if (!thread) break;
    threads.push_back(*std::move(thread));
  }
  mutex.Unlock();
  for (std::thread& thread : threads) thread.join();
  if (static_cast<int>(threads.size()) == count) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "the system gives {} threads where {} are wanted (ulimit -u, the "
      "cgroup's pids.max)",
      threads.size(), count));
}

}  // namespace trivium
