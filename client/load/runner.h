#ifndef TRIVIUM_CLIENT_LOAD_RUNNER_H_
#define TRIVIUM_CLIENT_LOAD_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "absl/time/time.h"
#include "client/load/calls.h"
#include "client/load/pacer.h"
#include "client/load/report.h"

namespace trivium {

struct RunOptions {
  absl::Time start;
  absl::Duration warm_up = absl::Seconds(2);
  // Sending ends after this time of measuring or, if `count` is positive,
  // after that many calls meant to start after the warm-up.
  absl::Duration duration = absl::Seconds(10);
  int64_t count = 0;
  FILE* live = nullptr;  // a terminal for the live line, or null
};

// Starts calls when `pacer` says until the end of sending or `stop`, waits for
// those in flight and reports. One thread: the calls' callbacks only hand
// their outcomes to it.
Report RunLoad(const RunOptions& options, Pacer& pacer, Caller& caller,
               const std::atomic<bool>& stop);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_RUNNER_H_
