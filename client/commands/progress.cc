#include "client/commands/progress.h"

#include "base/print.h"
#include "base/progress_bar.h"
#include "fmt/format.h"

namespace trivium {
namespace {

constexpr int kBar = 30;

}  // namespace

std::string ProgressLine(double fraction, int64_t lines, absl::Duration elapsed,
                         int width) {
  const double seconds = absl::ToDoubleSeconds(elapsed);
  std::string line =
      fmt::format("{}  {} lines", ProgressBar(fraction, kBar), lines);
  if (seconds > 0 && lines > 0 && fraction > 0) {
    line += fmt::format("  {:.0f} lines/s  {}", lines / seconds,
                        TimeLeft(seconds / fraction - seconds));
  }
  CutToWidth(&line, width);
  return line;
}

Progress::Progress(FILE* terminal, const Clock* clock)
    : terminal_(terminal), clock_(clock), start_(clock->Now()) {}

void Progress::Show(double fraction, int64_t lines) {
  const absl::Time now = clock_->Now();
  if (now - drawn_ < absl::Milliseconds(100)) return;
  drawn_ = now;
  visible_ = true;
  PrintTo(
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
