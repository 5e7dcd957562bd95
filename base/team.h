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

// A team of threads that share one caller's work; the caller is a member
// itself. Items are divided into one range per participating thread, always in
// the same way for the same number of items. An item's result must not depend
// on the division; then it depends neither on the number of threads nor on
// their speed.
//
//   Team team(4);
//   team.Run(rows, /*least=*/8, [&](int begin, int end, int thread) {
//     for (int row = begin; row < end; ++row) Norm(row, &scratch[thread]);
//   });
//
// A waiting thread spins for a while and then sleeps, so that runs in quick
// succession cost little. More threads than cores are slow but correct. A team
// of one is a plain call. Used by one thread at a time; runs do not nest. A run
// allocates nothing.
class Team {
 public:
  // begin < end. `thread` is in [0, threads()); no two concurrent calls have
  // the same.
  using Work = absl::FunctionRef<void(int begin, int end, int thread)>;

  // `threads` is at least 1 and includes the caller of Run(). If the system
  // refuses threads, or has no memory for them, the team has fewer.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const { return static_cast<int>(members_.size()) + 1; }

  // Divides the items [0, items) into ranges of nearly equal size, of at least
  // `least` items each, and returns when all are processed. The caller
  // processes the first, as thread 0.
  void Run(int items, int least, Work work) {
    const int ranges = std::min(threads(), items / std::max(least, 1));
    if (ranges > 1) return RunTogether(items, ranges, work);
    if (items > 0) work(0, items, 0);
  }

 private:
  // A number that one thread sets and another waits for.
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

  // On separate cache lines, so that spinning on one does not slow the others.
  struct alignas(64) Member {
    Signal begin;            // counts the runs it was told to start
    alignas(64) Signal end;  // counts the runs it has finished
    uint32_t runs = 0;       // the caller's copy of `begin`
    Thread thread;
  };

  void RunTogether(int items, int ranges, Work work);
  void RunRange(int thread) const;
  void Serve(int thread, Member* member);

  // The current run; a member reads these between `begin` and `end`.
  const Work* work_ = nullptr;  // null: members exit
  int items_ = 0;
  int ranges_ = 0;
  std::vector<std::unique_ptr<Member>> members_;  // threads 1, 2...
};

}  // namespace trivium

#endif  // TRIVIUM_BASE_TEAM_H_
