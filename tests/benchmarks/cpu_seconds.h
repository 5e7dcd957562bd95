#ifndef TRIVIUM_TESTS_BENCHMARKS_CPU_SECONDS_H_
#define TRIVIUM_TESTS_BENCHMARKS_CPU_SECONDS_H_

#include <time.h>

namespace trivium {

// Returns the CPU seconds that the process has used: other work on the machine
// does not count.
inline double CpuSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_BENCHMARKS_CPU_SECONDS_H_
