#ifndef TRIVIUM_CLIENT_COMMANDS_PROGRESS_H_
#define TRIVIUM_CLIENT_COMMANDS_PROGRESS_H_

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"

namespace trivium {

// Returns "[#####     ]  50 %  1200 lines  400 lines/s  0:03 left", in less
// than `width` columns. `fraction` is in [0, 1].
std::string ProgressLine(double fraction, int64_t lines, absl::Duration elapsed,
                         int width);

// A progress bar on the last line of a terminal, drawn at most ten times a
// second. Whoever writes results to the same terminal must first call Hide.
class Progress {
 public:
  Progress(FILE* terminal, const Clock* clock);
  ~Progress() { Hide(); }

  void Show(double fraction, int64_t lines);
  // Clears the line, so that something else can be written there.
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
