#ifndef TRIVIUM_SERVER_OBSERVABILITY_AUDIT_LOG_H_
#define TRIVIUM_SERVER_OBSERVABILITY_AUDIT_LOG_H_

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/socket.h"
#include "server/observability/log.h"

namespace trivium {

// Records each call and its end: appends one JSON object a line to a file. A
// thread writes, so that no call waits for a disk. If the disk is so slow that
// kLines lines wait, further lines are left out, and a line says how many
// ("left_out"). Thread-safe.
class AuditLog {
 public:
  static constexpr size_t kLines = 65536;

  // Creates the file if it does not exist, readable only by its owner. The
  // error names the file.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(
      const std::string& path);
  // Writes the waiting lines.
  ~AuditLog();

  void Write(absl::Time time, std::initializer_list<LogField> fields);

 private:
  AuditLog(std::string path, UniqueFd file);
  void Run();
  void WriteAll(const std::string& text);

  const std::string path_;
  const UniqueFd file_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  int64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
  LogLimit error_log_;
  std::thread thread_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_AUDIT_LOG_H_
