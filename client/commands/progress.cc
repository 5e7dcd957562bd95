#include "client/commands/progress.h"

#include <sys/ioctl.h>

#include <algorithm>

#include "fmt/format.h"

namespace trivium {
namespace {

constexpr int kBar = 30;

int TerminalWidth(FILE* terminal) {
  winsize size{};
  if (ioctl(fileno(terminal), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return 80;
  }
  return size.ws_col;
}

}  // namespace

std::string ProgressLine(double fraction, int64_t lines, absl::Duration elapsed,
                         int width) {
  fraction = std::clamp(fraction, 0.0, 1.0);
  const double seconds = absl::ToDoubleSeconds(elapsed);
  const int filled = static_cast<int>(fraction * kBar);
  std::string line = fmt::format(
      "[{}{}] {:3d} %  {} lines", std::string(filled, '#'),
      std::string(kBar - filled, ' '), static_cast<int>(fraction * 100), lines);
  if (seconds > 0 && lines > 0 && fraction > 0) {
    const auto left = static_cast<int64_t>(seconds / fraction - seconds + 0.5);
    line += fmt::format("  {:.0f} lines/s  {}:{:02d} left", lines / seconds,
                        left / 60, left % 60);
  }
  // Leaves the last column free, since some terminals wrap there.
  if (line.size() >= static_cast<size_t>(width)) line.resize(width - 1);
  return line;
}

Progress::Progress(FILE* terminal, const Clock* clock)
    : terminal_(terminal), clock_(clock), start_(clock->Now()) {}

void Progress::Show(double fraction, int64_t lines) {
  const absl::Time now = clock_->Now();
  if (now - drawn_ < absl::Milliseconds(100)) return;
  drawn_ = now;
  visible_ = true;
  fmt::print(
      terminal_, "\r{}\033[K",
      ProgressLine(fraction, lines, now - start_, TerminalWidth(terminal_)));
  std::fflush(terminal_);
}

void Progress::Hide() {
  if (!visible_) return;
  visible_ = false;
  std::fputs("\r\033[K", terminal_);
  std::fflush(terminal_);
}

}  // namespace trivium
