#ifndef TRIVIUM_BASE_PROGRESS_BAR_H_
#define TRIVIUM_BASE_PROGRESS_BAR_H_

#include <cstdio>
#include <string>

namespace trivium {

// The parts of a line that shows on a terminal how far some work is.

// The columns of a terminal; 80 if they are not known.
int TerminalWidth(FILE* terminal);

// Returns "[#####     ]  50 %", with `cells` in the brackets. `fraction` is
// brought into [0, 1].
std::string ProgressBar(double fraction, int cells);

// Returns "1:05 left".
std::string TimeLeft(double seconds);

// Cuts a line to less than `width` columns: some terminals wrap at the last.
void CutToWidth(std::string* line, int width);

}  // namespace trivium

#endif  // TRIVIUM_BASE_PROGRESS_BAR_H_
