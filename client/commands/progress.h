#ifndef TRIVIUM_CLIENT_COMMANDS_PROGRESS_H_
#define TRIVIUM_CLIENT_COMMANDS_PROGRESS_H_

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"

namespace trivium {

// "[#####     ]  50 %  1200 lines  400 lines/s  0:03 left", at most `width`
// columns. `fraction` is in [0, 1].
std::string ProgressLine(double fraction, int64_t lines, absl::Duration elapsed,
                         int width);

// A bar on a terminal's last line, drawn at most ten times a second. Where
// results go to a terminal too, they first Hide it.
class Progress {
 public:
  Progress(FILE* terminal, const Clock* clock);
  ~Progress() { Hide(); }

  void Show(double fraction, int64_t lines);
  // Clears the line, for something else to be written.
  void Hide();

 private:
  FILE* const terminal_;
  const Clock* const clock_;
  const absl::Time start_;
  absl::Time drawn_ = absl::InfinitePast();
  bool visible_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_PROGRESS_H_
