#ifndef TRIVIUM_SERVER_OBSERVABILITY_LOG_WRITER_H_
#define TRIVIUM_SERVER_OBSERVABILITY_LOG_WRITER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace trivium {

// Writes lines to a file descriptor on its own thread, so that logging never
// waits for the reader of a pipe. If the reader is slow, the oldest waiting
// lines are dropped, and the log says how many. If it is gone, all lines are
// dropped. Thread-safe.
class LogWriter {
 public:
  // Bound on the waiting lines.
  static constexpr size_t kLines = 8192;

  // The writer is never destroyed: its thread may hang in a write for ever.
  // RESOURCE_EXHAUSTED: the system cannot start a thread.
  static absl::StatusOr<LogWriter*> Create(int fd);

  // `line` ends with a newline.
  void Write(std::string line);
  // Waits until the lines so far are written, at most for `most`.
  void Flush(absl::Duration most);

 private:
  explicit LogWriter(int fd) : fd_(fd) {}
  void Run();
  void WriteAll(const std::string& text) const;

  const int fd_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  int64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_LOG_WRITER_H_
