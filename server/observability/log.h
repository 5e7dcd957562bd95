#ifndef TRIVIUM_SERVER_OBSERVABILITY_LOG_H_
#define TRIVIUM_SERVER_OBSERVABILITY_LOG_H_

#include <spdlog/common.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace trivium {

enum class LogFormat { kText, kJson };

using LogLevel = spdlog::level::level_enum;

// The process's log. Nothing is logged before InitLog or SetLogSink is called.

// Starts logging to standard error. `level`: trace, debug, info, warn, error,
// critical or off.
absl::Status InitLog(std::string_view level, LogFormat format);
// Passes lines of level `least` and above to `sink` instead, on the threads
// that log, one line at a time. The sink must not block. Null: logs nothing.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;
void SetLogSink(LogLevel least, LogSink sink);
// Waits until LogWriter's thread has written the lines so far, at most for
// `most`. Does nothing before InitLog.
void FlushLog(absl::Duration most);

struct LogField {
  std::string_view key;
  std::variant<std::string, int64_t, double> value;

  LogField(std::string_view k, std::string v) : key(k), value(std::move(v)) {}
  LogField(std::string_view k, std::string_view v)
      : key(k), value(std::string(v)) {}
  LogField(std::string_view k, const char* v) : key(k), value(std::string(v)) {}
  LogField(std::string_view k, int64_t v) : key(k), value(v) {}
  LogField(std::string_view k, int v) : key(k), value(int64_t{v}) {}
  LogField(std::string_view k, double v) : key(k), value(v) {}
};

// Logs one line: `message key=value...` or one JSON object. Control characters
// and quotes in values are escaped, so a line stays one line.
void Log(LogLevel level, std::string_view message,
         std::initializer_list<LogField> fields = {});

// True if Log writes lines of this level; lets callers skip costly fields.
bool LogEnabled(LogLevel level);

// Logs at most kLines lines a minute, and then the number that it left out. For
// events that clients can cause at any rate. Thread-safe.
class LogLimit {
 public:
  static constexpr int kLines = 10;

  void Log(LogLevel level, std::string_view message,
           std::initializer_list<LogField> fields = {});
  // Returns true if a line may be written at this time. Then `left_out` is the
  // number of lines that were left out before it.
  bool Allow(absl::Time now, int64_t* left_out);

 private:
  Mutex mutex_;
  absl::Time begin_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int written_ ABSL_GUARDED_BY(mutex_) = 0;  // since begin_
  int64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The text of a line after its time and level. Used by Log and its tests.
std::string FormatLogLine(LogFormat format, std::string_view message,
                          std::initializer_list<LogField> fields);

// `,"key":value` for each field, in JSON.
std::string FormatJsonFields(std::initializer_list<LogField> fields);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_LOG_H_
