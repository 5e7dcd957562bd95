#include "base/thread.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace trivium {
namespace {

thread_local const ThreadSource* source_in_use = nullptr;

}  // namespace

std::optional<Thread> StartThread(std::function<void()> run) {
  if (source_in_use != nullptr) {
    std::function<void()> join = (*source_in_use)(std::move(run));
    if (join == nullptr) return std::nullopt;
    return Thread(std::move(join));
  }
  try {
    return Thread(std::thread(std::move(run)));
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

UseThreadSource::UseThreadSource(ThreadSource source)
    : source_(std::move(source)), before_(source_in_use) {
  if (source_ != nullptr) source_in_use = &source_;
}

UseThreadSource::~UseThreadSource() { source_in_use = before_; }

absl::Status CheckThreads(int count) {
  Mutex mutex;
  mutex.Lock();  // the threads wait for it
  std::vector<Thread> threads;
  while (static_cast<int>(threads.size()) < count) {
    auto thread = StartThread([&mutex] { MutexLock lock(&mutex); });
    if (!thread) break;
    threads.push_back(*std::move(thread));
  }
  mutex.Unlock();
  for (Thread& thread : threads) thread.join();
  if (static_cast<int>(threads.size()) == count) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "the system allows {} threads, but {} are needed; raise ulimit -u or the "
      "cgroup's pids.max",
      threads.size(), count));
}

}  // namespace trivium
