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

// A few threads for work that must delay neither the transport's threads
// (tokenizing long texts) nor the batcher's workers (making texts of results).
//
// Fair between calls by the bytes that their work handles: first in, first out
// within a call; between calls, the one that was served least is next. Calls
// hand over long work in pieces (kPieceBytes), each of which queues the next
// one. So a short text waits for at most one piece on each thread, whatever
// else is queued. Work that cannot be cut calls Yield. Work is never removed
// from the queue: the work of a cancelled call asks Call::CheckAlive and ends
// at once.
//
// The queue needs no limit: each call bounds the work that it queues.
// Thread-safe. The destructor does the queued work before it returns.
class WorkPool {
 public:
  // Bytes that a piece of work should handle, about.
  static constexpr int64_t kPieceBytes = 16 << 10;

  // Has fewer threads if the system gives fewer.
  explicit WorkPool(int threads);
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  // 0: the pool cannot do any work.
  int threads() const { return static_cast<int>(threads_.size()); }

  // Queues work that handles `bytes`. `call` identifies the call: any address
  // that is unique to it. Throws std::bad_alloc if there is no memory; then
  // nothing is queued. `work` should answer for its own exceptions; one that
  // comes out of it is dropped.
  void Run(const void* call, int64_t bytes, std::function<void()> work);

  // Called by long work again and again, with no lock held. On a pool's thread,
  // it does up to kPieceBytes of others' short work whose turn has come. Does
  // nothing on other threads, or inside the work that it does.
  static void Yield();

 private:
  struct Work {
    int64_t bytes;
    std::function<void()> run;
  };
  // A call that has queued or running work.
  struct Line {
    std::deque<Work> work;
    int running = 0;
    uint64_t served = 0;  // bytes, on the pool's own scale
    uint64_t number = 0;  // in the order of arrival
  };
  using Lines = std::map<const void*, Line>;

  // The place of a line with queued work.
  struct Turn {
    uint64_t served;
    uint64_t number;
    const void* call;
    auto operator<=>(const Turn&) const = default;
  };

  void Loop();
  // Does the next work of the turn's line, without the lock. Returns its bytes.
  int64_t RunLocked(Turn turn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Does others' short work whose turn is before `call`'s.
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
