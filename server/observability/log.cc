#include "server/observability/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "server/observability/log_writer.h"

namespace trivium {
namespace {

std::atomic<LogFormat> log_format{LogFormat::kText};
std::atomic<LogWriter*> log_writer{nullptr};  // set by InitLog

// JSON's escapes serve both formats; bytes that are not UTF-8 become U+FFFD.
std::string Quote(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

bool NeedsQuotes(std::string_view text) {
  if (text.empty()) return true;
  for (const unsigned char c : text) {
    if (c <= ' ' || c == '"' || c == '\\' || c == '=' || c >= 0x7f) return true;
  }
  return false;
}

// The current logger. Earlier loggers are never destroyed, because a thread may
// still be using one.
std::atomic<spdlog::logger*> logger_now{nullptr};

void UseLogger(std::unique_ptr<spdlog::logger> logger) {
  static Mutex mutex;
  static auto* const all = new std::vector<std::unique_ptr<spdlog::logger>>;
  MutexLock lock(&mutex);
  logger_now = logger.get();
  all->push_back(std::move(logger));
}

// Passes lines to a function, without time and level.
class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(LogSink sink) : sink_(std::move(sink)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    sink_(message.level, {message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

  const LogSink sink_;
};

// Passes lines to a LogWriter.
class WriterSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit WriterSink(LogWriter* writer) : writer_(writer) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    writer_->Write(std::string(line.data(), line.size()));
  }
  void flush_() override {}

  LogWriter* const writer_;
};

std::string FormatValue(LogFormat format, const LogField& field) {
  if (const auto* text = std::get_if<std::string>(&field.value)) {
    const bool quote = format == LogFormat::kJson || NeedsQuotes(*text);
    return quote ? Quote(*text) : *text;
  }
  if (const auto* number = std::get_if<double>(&field.value)) {
    return fmt::format("{:.6g}", *number);
  }
  return fmt::format("{}", std::get<int64_t>(field.value));
}

}  // namespace

absl::Status InitLog(std::string_view level, LogFormat format) {
  const LogLevel parsed = spdlog::level::from_str(std::string(level));
  // from_str returns "off" for an unknown name.
  if (parsed == spdlog::level::off && level != "off") {
    return absl::InvalidArgumentError(fmt::format(
        "unknown log level '{}'; use trace, debug, info, warn, error, critical "
        "or off",
        level));
  }
  static const absl::StatusOr<LogWriter*> writer =
      LogWriter::Create(STDERR_FILENO);
  TRIVIUM_RETURN_IF_ERROR(writer.status());
  log_writer = *writer;
  auto logger = std::make_unique<spdlog::logger>(
      "trivium", std::make_shared<WriterSink>(*writer));
  logger->set_level(parsed);
  logger->set_pattern(
      format == LogFormat::kJson
          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})"
          : "%Y-%m-%d %H:%M:%S.%e %L %v");
  log_format = format;
  UseLogger(std::move(logger));
  return absl::OkStatus();
}

void SetLogSink(LogLevel least, LogSink sink) {
  if (sink == nullptr) {
    logger_now = nullptr;
    return;
  }
  auto logger = std::make_unique<spdlog::logger>(
      "trivium", std::make_shared<FunctionSink>(std::move(sink)));
  logger->set_level(least);
  log_format = LogFormat::kText;
  UseLogger(std::move(logger));
}

std::string FormatLogLine(LogFormat format, std::string_view message,
                          std::initializer_list<LogField> fields) {
  if (format == LogFormat::kJson) {
    return fmt::format("\"message\":{}{}", Quote(message),
                       FormatJsonFields(fields));
  }
  std::string line(message);
  for (const LogField& field : fields) {
    line += fmt::format(" {}={}", field.key, FormatValue(format, field));
  }
  return line;
}

std::string FormatJsonFields(std::initializer_list<LogField> fields) {
  std::string text;
  for (const LogField& field : fields) {
    text += fmt::format(",\"{}\":{}", field.key,
                        FormatValue(LogFormat::kJson, field));
  }
  return text;
}

void FlushLog(absl::Duration most) {
  if (LogWriter* const writer = log_writer) writer->Flush(most);
}

bool LogEnabled(LogLevel level) {
  const spdlog::logger* const logger = logger_now;
  return logger != nullptr && logger->should_log(level);
}

void Log(LogLevel level, std::string_view message,
         std::initializer_list<LogField> fields) {
  spdlog::logger* const logger = logger_now;
  if (logger == nullptr || !logger->should_log(level)) return;
  logger->log(level, "{}", FormatLogLine(log_format.load(), message, fields));
}

bool LogLimit::Allow(absl::Time now, int64_t* left_out) {
  MutexLock lock(&mutex_);
  if (now >= begin_ + absl::Minutes(1)) {
    begin_ = now;
    written_ = 0;
  }
  if (written_ == kLines) {
    ++left_out_;
    return false;
  }
  ++written_;
  *left_out = std::exchange(left_out_, 0);
  return true;
}

void LogLimit::Log(LogLevel level, std::string_view message,
                   std::initializer_list<LogField> fields) {
  int64_t left_out = 0;
  if (!LogEnabled(level) || !Allow(SteadyNow(), &left_out)) return;
  if (left_out > 0) {
    trivium::Log(level, "lines like the next one were left out",
                 {{"lines", left_out}});
  }
  trivium::Log(level, message, fields);
}

}  // namespace trivium
