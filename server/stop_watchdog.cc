#include "server/stop_watchdog.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/time/clock.h"
#include "base/thread.h"
#include "server/observability/log.h"

namespace trivium {
namespace {

// Time to write the last line.
constexpr absl::Duration kLogTime = absl::Milliseconds(200);

}  // namespace

void ExitAtOnce(int code, std::string_view why) {
  Log(spdlog::level::critical, why);
  FlushLog(kLogTime);
  _exit(code);
}

void ExitUnlessStopped(absl::Duration within) {
  auto thread = StartThread([within] {
    absl::SleepFor(within);
    ExitAtOnce(EXIT_FAILURE, "not stopped in time; the process ends now");
  });
  if (thread) thread->detach();
}

}  // namespace trivium
