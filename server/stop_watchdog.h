#ifndef TRIVIUM_SERVER_STOP_WATCHDOG_H_
#define TRIVIUM_SERVER_STOP_WATCHDOG_H_

#include <string_view>

#include "absl/time/time.h"

namespace trivium {

// Ends the process at once with `code`. Logs `why`, unless the log does not
// accept a line now: it may be a pipe that nobody reads.
[[noreturn]] void ExitAtOnce(int code, std::string_view why);

// Ends the process with EXIT_FAILURE if it has not ended within this time,
// whatever the cause. So a stop never takes longer than documented. The log
// names the stage that the stop was in.
void ExitUnlessStopped(absl::Duration within);

// Says what the stop does from now on, such as "waiting for calls". The text
// must live as long as the process. Thread-safe.
void SetStopStage(const char* stage);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_STOP_WATCHDOG_H_
