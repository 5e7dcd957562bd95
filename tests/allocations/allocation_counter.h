#ifndef TRIVIUM_TESTS_ALLOCATIONS_ALLOCATION_COUNTER_H_
#define TRIVIUM_TESTS_ALLOCATIONS_ALLOCATION_COUNTER_H_

#include <string>

namespace trivium {

// Counts what this program's operator new is asked for by one thread, except
// by oneDNN itself: what a library does inside is not ours.
class AllocationCounter {
 public:
  // From now on, the calling thread's; until Stop.
  static void Start();
  static void Stop();

  // Since the last Start. After Stop, from any thread.
  static int count();
  // Where the first of them came from: addresses for addr2line.
  static std::string Sites();
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_ALLOCATIONS_ALLOCATION_COUNTER_H_
