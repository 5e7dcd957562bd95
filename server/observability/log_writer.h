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

// Writes lines to a file descriptor on a thread of its own, so that who logs
// never waits for who reads: where the reader of a pipe is slow, the oldest
// lines of those that wait go, and the log says how many. Where it is gone,
// all do. Thread-safe.
class LogWriter {
 public:
  // Lines that wait at most.
  static constexpr size_t kLines = 8192;

  // It is never destroyed: its thread may hang in a write for ever.
  static absl::StatusOr<LogWriter*> Create(int fd);

  // `line` ends with a newline.
  void Write(std::string line);
  // Waits until what was given before is written, at most so long.
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
