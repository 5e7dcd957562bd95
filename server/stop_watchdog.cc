#include "server/stop_watchdog.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "absl/time/clock.h"
#include "base/thread.h"
#include "server/observability/log.h"

namespace trivium {
namespace {

// Time to write the last line.
constexpr absl::Duration kLogTime = absl::Milliseconds(200);

std::atomic<const char*> stop_stage = "beginning to stop";

}  // namespace

void ExitAtOnce(int code, std::string_view why) {
  Log(spdlog::level::critical, why);
  FlushLog(kLogTime);
  _exit(code);
}

void SetStopStage(const char* stage) { stop_stage = stage; }

void ExitUnlessStopped(absl::Duration within) {
  auto thread = StartThread([within] {
    absl::SleepFor(within);
    Log(spdlog::level::critical, "not stopped in time; the process ends now",
        {{"while", stop_stage.load()}});
    FlushLog(kLogTime);
    _exit(EXIT_FAILURE);
  });
  if (thread) thread->detach();
}

}  // namespace trivium
