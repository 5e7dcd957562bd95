#include "server/observability/log_writer.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/exceptions.h"
#include "base/status.h"
#include "base/thread.h"
#include "fmt/format.h"

namespace trivium {

absl::StatusOr<LogWriter*> LogWriter::Create(int fd) {
  auto* const writer = new LogWriter(fd);
  auto thread = StartThread([writer] { writer->Run(); });
  if (!thread) {
    delete writer;
    return absl::ResourceExhaustedError(
        "the system cannot start a thread for the log (see ulimit -u and the "
        "cgroup's pids.max)");
  }
  thread->detach();
  return writer;
}

void LogWriter::Write(std::string line) {
  MutexLock lock(&mutex_);
  if (lines_.size() == kLines) {
    lines_.pop_front();
    ++left_out_;
  }
  lines_.push_back(std::move(line));
  changed_.SignalAll();
}

void LogWriter::Flush(absl::Duration most) {
  const absl::Time end = SteadyNow() + most;
  MutexLock lock(&mutex_);
  while (writing_ || !lines_.empty()) {
    const absl::Duration left = end - SteadyNow();
    if (left <= absl::ZeroDuration()) return;
    changed_.WaitFor(&mutex_, left);
  }
}

void LogWriter::Run() {
  // Leaves signals to the threads that handle them.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (true) {
    std::string text;
    {
      MutexLock lock(&mutex_);
      writing_ = false;
      changed_.SignalAll();
      while (lines_.empty()) changed_.Wait(&mutex_);
      // Without memory, a line is lost.
      CatchExceptions([&] {
        mutex_.AssertHeld();
        if (left_out_ > 0) {
          text = fmt::format(
              "{} lines of the log were left out because they were not read in "
              "time\n",
              std::exchange(left_out_, 0));
        }
        text += lines_.front();
      }).IgnoreError();
      lines_.pop_front();
      writing_ = true;
    }
    WriteAll(text);
  }
}

void LogWriter::WriteAll(const std::string& text) const {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace trivium
