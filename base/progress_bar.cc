#include "base/progress_bar.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstdint>

namespace trivium {

int TerminalWidth(FILE* terminal) {
  winsize size{};
  if (ioctl(fileno(terminal), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return 80;
  }
  return size.ws_col;
}

std::string ProgressBar(double fraction, int cells) {
  fraction = std::clamp(fraction, 0.0, 1.0);
  const int filled = static_cast<int>(fraction * cells);
  return fmt::format("[{}{}] {:3d} %", std::string(filled, '#'),
                     std::string(cells - filled, ' '),
                     static_cast<int>(fraction * 100));
}

std::string TimeLeft(double seconds) {
  const auto left = static_cast<int64_t>(seconds + 0.5);
  return fmt::format("{}:{:02d} left", left / 60, left % 60);
}

void CutToWidth(std::string* line, int width) {
  const auto most = static_cast<size_t>(std::max(width, 1) - 1);
  if (line->size() > most) line->resize(most);
}

}  // namespace trivium
