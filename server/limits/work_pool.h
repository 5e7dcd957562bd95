#ifndef TRIVIUM_SERVER_LIMITS_WORK_POOL_H_
#define TRIVIUM_SERVER_LIMITS_WORK_POOL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/mutex.h"
#include "base/thread.h"

namespace trivium {

// A few threads for work that must hold up neither the transport's threads
// (tokenizing long texts) nor the batcher's workers (making texts of results).
//
// Fair between calls, by what their work costs in bytes: first in, first out
// within a call; between calls, the one that was served least is next. So a
// short text waits for at most one piece of work on each thread, whatever
// else is queued, if calls hand over long work in pieces: each piece queues
// the next one (kPieceBytes). Work that cannot be cut yields. Work is never
// taken back: that of a call that is no longer wanted asks Call::CheckAlive and
// ends at once.
//
// The queue needs no bound of its own: each call bounds what it has in it.
// Thread-safe. The destructor does what is queued, then returns.
class WorkPool {
 public:
  // About how much a piece of work should handle.
  static constexpr int64_t kPieceBytes = 16 << 10;

  // Where the system gives fewer threads it has fewer.
  explicit WorkPool(int threads);
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  // 0: it does nothing, and is of no use.
  int threads() const { return static_cast<int>(threads_.size()); }

  // `call` is whose work it is: any address that no other call has.
  void Run(const void* call, int64_t bytes, std::function<void()> work);

  // Called by long work again and again, with no lock held: on a pool's thread
  // it first does a piece's worth of what is short and has its turn. It does
  // nothing on other threads, and inside of what it does.
  static void Yield();

 private:
  struct Work {
    int64_t bytes;
    std::function<void()> run;
  };
  // A call that has work here, or had when it was last served.
  struct Line {
    std::deque<Work> work;
    int running = 0;
    uint64_t served = 0;  // bytes, on the pool's own scale
    uint64_t number = 0;  // in the order of coming
  };
  using Lines = std::map<const void*, Line>;

  // A line that has work.
  struct Turn {
    uint64_t served;
    uint64_t number;
    const void* call;
    auto operator<=>(const Turn&) const = default;
  };

  void Loop();
  // Does the next work of the turn's line, without the lock; gives its bytes.
  int64_t RunLocked(Turn turn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Does others' short work whose turn is before that of `call`.
  void RunOthers(const void* call);
  const Turn* NextShortLocked(const void* call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  Lines lines_ ABSL_GUARDED_BY(mutex_);
  std::set<Turn> turns_ ABSL_GUARDED_BY(mutex_);
  uint64_t now_served_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t lines_seen_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Thread> threads_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_WORK_POOL_H_
