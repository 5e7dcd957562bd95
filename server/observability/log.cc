#include "server/observability/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/time/clock.h"

namespace trivium {
namespace {

std::atomic<LogFormat> log_format{LogFormat::kText};

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
  // from_str answers "off" for what it does not know.
  if (parsed == spdlog::level::off && level != "off") {
    return absl::InvalidArgumentError(fmt::format(
        "unknown log level '{}'; use trace, debug, info, warn, error, critical "
        "or off",
        level));
  }
  auto logger = std::make_shared<spdlog::logger>(
      "trivium", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(parsed);
  logger->flush_on(spdlog::level::trace);
  logger->set_pattern(
      format == LogFormat::kJson
          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})"
          : "%Y-%m-%d %H:%M:%S.%e %L %v");
  log_format = format;
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

std::string FormatLogLine(LogFormat format, std::string_view message,
                          std::initializer_list<LogField> fields) {
  std::string line = format == LogFormat::kJson
                         ? fmt::format("\"message\":{}", Quote(message))
                         : std::string(message);
  for (const LogField& field : fields) {
    line +=
        format == LogFormat::kJson
            ? fmt::format(",\"{}\":{}", field.key, FormatValue(format, field))
            : fmt::format(" {}={}", field.key, FormatValue(format, field));
  }
  return line;
}

bool LogEnabled(LogLevel level) {
  return spdlog::default_logger_raw()->should_log(level);
}

void Log(LogLevel level, std::string_view message,
         std::initializer_list<LogField> fields) {
  if (!LogEnabled(level)) return;
  spdlog::default_logger_raw()->log(
      level, "{}", FormatLogLine(log_format.load(), message, fields));
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
  if (!LogEnabled(level) || !Allow(absl::Now(), &left_out)) return;
  if (left_out > 0) {
    trivium::Log(level, "lines like the next were left out",
                 {{"lines", left_out}});
  }
  trivium::Log(level, message, fields);
}

}  // namespace trivium
