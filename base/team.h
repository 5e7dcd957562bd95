#ifndef TRIVIUM_BASE_TEAM_H_
#define TRIVIUM_BASE_TEAM_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/mutex.h"
#include "base/thread.h"

namespace trivium {

// Threads that share the work of one, which is a member itself: items are cut
// into ranges, one for each thread that takes part, always in the same way for
// as many items. What an item's result is must not depend on the cut; then it
// depends neither on the number of threads nor on who is the faster.
//
//   Team team(4);
//   team.Run(rows, /*least=*/8, [&](int begin, int end, int thread) {
//     for (int row = begin; row < end; ++row) Norm(row, &scratch[thread]);
//   });
//
// Who waits spins for a while, then sleeps, so that runs cost little as long as
// they follow upon each other. More threads than cores are slow, but right. A
// team of one is a plain call. Used by one thread at a time; runs do not nest.
// A run allocates nothing.
class Team {
 public:
  // begin < end; thread in [0, threads()), no two at once with the same.
  using Work = absl::FunctionRef<void(int begin, int end, int thread)>;

  // threads: at least 1, with the caller of Run(). Where the system gives fewer
  // the team has fewer.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const { return static_cast<int>(members_.size()) + 1; }

  // Cuts the items [0, items) into ranges of nearly one size, on as many
  // threads as have `least` items or more, and returns when all are done. The
  // caller's is the first, as thread 0.
  void Run(int items, int least, Work work) {
    const int ranges = std::min(threads(), items / std::max(least, 1));
    if (ranges > 1) return RunTogether(items, ranges, work);
    if (items > 0) work(0, items, 0);
  }

 private:
  // A number that one thread changes and another waits for.
  class Signal {
   public:
    void Set(uint32_t value);
    void WaitFor(uint32_t value);

   private:
    std::atomic<uint32_t> value_{0};
    std::atomic<bool> asleep_{false};
    Mutex mutex_;
    CondVar woken_;
  };

  // Apart, so that who spins on one does not slow the others.
  struct alignas(64) Member {
    Signal begin;            // counts what it has been told to run ...
    alignas(64) Signal end;  // ... and what it has run
    uint32_t runs = 0;       // the caller's count
    Thread thread;
  };

  void RunTogether(int items, int ranges, Work work);
  void RunRange(int thread) const;
  void Serve(int thread, Member* member);

  // Of the run under way; a member reads them between `begin` and `end`.
  const Work* work_ = nullptr;  // null: the member ends
  int items_ = 0;
  int ranges_ = 0;
  std::vector<std::unique_ptr<Member>> members_;  // of threads 1 and on
};

}  // namespace trivium

#endif  // TRIVIUM_BASE_TEAM_H_
