#include "server/observability/audit_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/memory/memory.h"

namespace trivium {
namespace {

constexpr int kOwnerOnly = 0600;

std::string ToLine(absl::Time time, std::initializer_list<LogField> fields) {
  return fmt::format(
      "{{\"time\":\"{}\"{}}}\n",
      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone()),
      FormatJsonFields(fields));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(
    const std::string& path) {
  UniqueFd file(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
                     kOwnerOnly));
  if (!file) {
    return absl::UnavailableError(
        fmt::format("cannot write {}: {}", path, strerror(errno)));
  }
  return absl::WrapUnique(new AuditLog(path, std::move(file)));
}

AuditLog::AuditLog(std::string path, UniqueFd file)
    : path_(std::move(path)),
      file_(std::move(file)),
      thread_([this] { Run(); }) {}

AuditLog::~AuditLog() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.SignalAll();
  thread_.join();
}

void AuditLog::Write(absl::Time time, std::initializer_list<LogField> fields) {
  std::string line = ToLine(time, fields);
  MutexLock lock(&mutex_);
  if (lines_.size() >= kLines) {
    ++left_out_;
    return;
  }
  if (left_out_ > 0) {
    lines_.push_back(ToLine(time, {{"left_out", std::exchange(left_out_, 0)}}));
  }
  lines_.push_back(std::move(line));
  changed_.SignalAll();
}

void AuditLog::Run() {
  while (true) {
    std::string text;
    {
      MutexLock lock(&mutex_);
      while (lines_.empty() && !stopping_) changed_.Wait(&mutex_);
      if (lines_.empty()) return;
      for (const std::string& line : lines_) text += line;
      lines_.clear();
    }
    WriteAll(text);
  }
}

void AuditLog::WriteAll(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = write(file_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      return error_log_.Log(spdlog::level::err,
                            "cannot write calls to --audit-log",
                            {{"file", path_}, {"error", strerror(errno)}});
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace trivium
