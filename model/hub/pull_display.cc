#include "model/hub/pull_display.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/progress_bar.h"
#include "model/folder_report.h"

namespace trivium {
namespace {

constexpr int kBar = 20;
constexpr absl::Duration kRedraw = absl::Milliseconds(100);

}  // namespace

std::string PullLine(const std::string& path, int64_t have, int64_t size,
                     int64_t fetched, absl::Duration elapsed, int width) {
  const double fraction =
      size > 0 ? static_cast<double>(have) / static_cast<double>(size) : 1;
  std::string line =
      fmt::format("{}  {}  {} of {}", path, ProgressBar(fraction, kBar),
                  RoundedBytes(have), RoundedBytes(size));
  const double seconds = absl::ToDoubleSeconds(elapsed);
  if (seconds >= 0.5 && fetched > 0) {
    const double rate = static_cast<double>(fetched) / seconds;
    line += fmt::format("  {}/s  {}", RoundedBytes(static_cast<int64_t>(rate)),
                        TimeLeft(static_cast<double>(size - have) / rate));
  }
  CutToWidth(&line, width);
  return line;
}

PullDisplay::PullDisplay(FILE* file)
    : file_(file), terminal_(isatty(fileno(file)) == 1) {}

void PullDisplay::OnFile(const HubFile& file, int64_t have) {
  path_ = file.path;
  size_ = file.size;
  have_ = had_ = have;
  begin_ = SteadyNow();
  drawn_ = absl::InfinitePast();
  if (!terminal_) {
    fmt::print(
        file_, "fetching {} ({}){}\n", path_, RoundedBytes(size_),
        have > 0 ? fmt::format(", going on after {}", RoundedBytes(have)) : "");
  }
}

void PullDisplay::OnBytes(int64_t have) {
  had_ = std::min(had_, have);
  have_ = have;
  const absl::Time now = SteadyNow();
  if (terminal_ && now - drawn_ >= kRedraw) Draw(now);
}

void PullDisplay::Draw(absl::Time now) {
  drawn_ = now;
  fmt::print(file_, "\r{}\033[K",
             PullLine(path_, have_, size_, have_ - had_, now - begin_,
                      TerminalWidth(file_)));
  std::fflush(file_);
}

void PullDisplay::OnFileEnd() {
  if (!terminal_) return;
  Draw(SteadyNow());
  fmt::print(file_, "\n");
}

void PullDisplay::OnNote(const std::string& text) {
  fmt::print(file_, "{}{}\n", terminal_ ? "\r\033[K" : "", text);
  std::fflush(file_);
}

}  // namespace trivium
