#ifndef TRIVIUM_SERVER_STOP_WATCHDOG_H_
#define TRIVIUM_SERVER_STOP_WATCHDOG_H_

#include <string_view>

#include "absl/time/time.h"

namespace trivium {

// Ends the process at once with `code`. It says why, if the log takes a line
// now: it may be a pipe that nobody reads.
[[noreturn]] void ExitAtOnce(int code, std::string_view why);

// Ends the process with EXIT_FAILURE where it has not ended within this time,
// whatever holds it up: who stopped it waits no longer than was said.
void ExitUnlessStopped(absl::Duration within);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_STOP_WATCHDOG_H_
