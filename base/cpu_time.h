#ifndef TRIVIUM_BASE_CPU_TIME_H_
#define TRIVIUM_BASE_CPU_TIME_H_

#include <time.h>

#include "absl/time/time.h"

namespace trivium {

// Returns the CPU time that the calling thread has used. It bounds work by its
// cost, however busy the machine is.
inline absl::Duration ThreadCpuTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

}  // namespace trivium

#endif  // TRIVIUM_BASE_CPU_TIME_H_
