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

// The process's log; nothing is written before one of the next two is called.
//
// Sets it up on standard error. `level`: trace, debug, info,
// warn, error, critical or off.
absl::Status InitLog(std::string_view level, LogFormat format);
// Gives lines of a level and above to `sink` instead, on the threads that log,
// one at a time; it must not block. Null: nobody gets them.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;
void SetLogSink(LogLevel least, LogSink sink);
// Lines of InitLog are written by a thread (LogWriter); waits for those before,
// at most so long.
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

// One structured line: `message key=value...` or one JSON object. Values with
// control characters or quotes are escaped, so that a line stays a line.
void Log(LogLevel level, std::string_view message,
         std::initializer_list<LogField> fields = {});

// Whether Log at this level writes; to skip building costly fields.
bool LogEnabled(LogLevel level);

// Writes at most kLines lines in a minute, and tells how many it left out: for
// what a client may cause as often as it likes. Thread-safe.
class LogLimit {
 public:
  static constexpr int kLines = 10;

  void Log(LogLevel level, std::string_view message,
           std::initializer_list<LogField> fields = {});
  // Whether a line may be written at this time; if so, `left_out` says how many
  // were not before it.
  bool Allow(absl::Time now, int64_t* left_out);

 private:
  Mutex mutex_;
  absl::Time begin_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int written_ ABSL_GUARDED_BY(mutex_) = 0;  // since begin_
  int64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The text of a line after its time and level; for Log and its tests.
std::string FormatLogLine(LogFormat format, std::string_view message,
                          std::initializer_list<LogField> fields);

// `,"key":value` for each field, as JSON has them.
std::string FormatJsonFields(std::initializer_list<LogField> fields);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_LOG_H_
