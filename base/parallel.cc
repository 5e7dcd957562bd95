#include "base/parallel.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "base/cpu_limits.h"
#include "base/team.h"

namespace trivium {
namespace {

constexpr int kNice = 10;

}  // namespace

void ParallelFor(int items, int least,
                 absl::FunctionRef<void(int begin, int end)> work) {
  if (items <= 0) return;
  static const int cores = UsableCores();
  const int threads = std::min(cores, items / std::max(least, 1));
  if (threads <= 1) return work(0, items);
  std::atomic<bool> out_of_memory = false;
  Team team(threads);
  team.Run(items, least, [&](int begin, int end, int thread) {
    if (thread > 0) {
      // Linux applies this to the calling thread alone.
      [[maybe_unused]] const int level = nice(kNice);
    }
    try {
      work(begin, end);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  });
  if (out_of_memory) throw std::bad_alloc();
}

}  // namespace trivium
