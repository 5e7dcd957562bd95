#include "client/commands/interrupts.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "client/commands/io.h"

namespace trivium {
namespace {

// The eventfd of the only Interrupts, for the signal handler; -1: there is
// none.
std::atomic<int> g_wake{-1};

void CountOne(int wake) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake, &one, sizeof(one));
}

// The last signal that came.
std::atomic<int> g_signal{0};

void OnInterrupt(int signal) {
  const int error = errno;
  g_signal = signal;
  CountOne(g_wake);
  errno = error;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Interrupts>> Interrupts::Create(
    std::function<void()> idle, std::vector<int> signals) {
  const int wake = eventfd(0, EFD_CLOEXEC);
  if (wake < 0) return IoError("wait for", "Ctrl-C", errno);
  return std::unique_ptr<Interrupts>(
      new Interrupts(std::move(idle), std::move(signals), wake));
}

Interrupts::Interrupts(std::function<void()> idle, std::vector<int> signals,
                       int wake)
    : idle_(std::move(idle)), wake_(wake), thread_([this] { Watch(); }) {
  g_wake = wake;
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = SA_RESTART;
  for (const int signal : signals) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    // nohup ignores SIGHUP.
    if (before.sa_handler == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
    before_.emplace_back(signal, before);
  }
}

Interrupts::~Interrupts() {
  for (const auto& [signal, before] : before_) {
    sigaction(signal, &before, nullptr);
  }
  {
    MutexLock lock(&mutex_);
    ending_ = true;
  }
  CountOne(wake_);
  thread_.join();
  close(wake_);
}

std::stop_token Interrupts::Begin() {
  MutexLock lock(&mutex_);
  stop_ = std::stop_source();
  running_ = true;
  return stop_.get_token();
}

int Interrupts::End() {
  MutexLock lock(&mutex_);
  running_ = false;
  return stop_.stop_requested() ? g_signal.load() : 0;
}

void Interrupts::Watch() {
  while (true) {
    uint64_t count = 0;
    if (read(wake_, &count, sizeof(count)) < 0 && errno != EINTR) return;
    std::stop_source stop(std::nostopstate);
    {
      MutexLock lock(&mutex_);
      if (ending_) return;
      if (running_) stop = stop_;
    }
    // Without the lock: the stopped call may be about to call End.
    if (!stop.stop_possible()) {
      idle_();
    } else {
      stop.request_stop();
    }
  }
}

}  // namespace trivium
