#ifndef TRIVIUM_BASE_PARALLEL_H_
#define TRIVIUM_BASE_PARALLEL_H_

#include "absl/functional/function_ref.h"

namespace trivium {

// Divides the items [0, items) into ranges of at least `least` items each, runs
// work(begin, end) for all of them on as many threads as this process has
// cores, and returns when all are done. For rare long work, such as reading a
// model's weights: it starts threads, which give way to those that serve (their
// nice value is higher by 10). If the system refuses threads, it goes on with
// fewer. A range's result must not depend on the division. If `work` throws
// std::bad_alloc on any thread, so does this; it must throw nothing else.
void ParallelFor(int items, int least,
                 absl::FunctionRef<void(int begin, int end)> work);

}  // namespace trivium

#endif  // TRIVIUM_BASE_PARALLEL_H_
