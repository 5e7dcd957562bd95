#ifndef TRIVIUM_CLIENT_LOAD_RUNNER_H_
#define TRIVIUM_CLIENT_LOAD_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/time/time.h"
#include "client/load/caller.h"
#include "client/load/pacer.h"
#include "client/load/recorder.h"
#include "client/load/workload.h"

namespace trivium {

struct RunOptions {
  absl::Duration warm_up = absl::Seconds(2);
  // Sending ends when this time has been measured or, if `count` is positive,
  // after that many calls that were meant to start after the warm-up.
  absl::Duration duration = absl::Seconds(10);
  int64_t count = 0;
  double abort_share = 0;  // share of the calls that are aborted on the way
  FILE* live = nullptr;    // a terminal for the live line, or null
};

// Starts the workload's calls as `pacing` says until the end of sending or
// `stop`, then waits for those in flight. Everything runs on the caller's
// thread; the calls' callbacks only pass their outcomes to it. `title` begins
// the live line.
Recording RunLoad(const RunOptions& options, const Pacing& pacing,
                  const Workload& workload, Caller& caller,
                  const std::string& title, const std::atomic<bool>& stop);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_RUNNER_H_
