#ifndef TRIVIUM_SERVER_LIMITS_WORK_POOL_H_
#define TRIVIUM_SERVER_LIMITS_WORK_POOL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/mutex.h"
#include "base/thread.h"
#include "server/batching/request.h"

namespace trivium {

// A few threads for work that must delay neither the transport's threads
// (tokenizing long texts) nor the batcher's workers (making texts of results).
//
// Fair by the bytes that work handles, first between clients, then between the
// calls of a client: whoever was served least is next. First in, first out
// within a call. Calls hand over long work in pieces (kPieceBytes), each of
// which queues the next one. So a short text waits for at most one piece of
// each other client on each thread, whatever else is queued. Work that cannot
// be cut calls Yield. Work is never removed from the queue: the work of a
// cancelled call asks Call::CheckAlive and ends at once.
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

  // The client and the call that work is for. `call`: any address that is
  // unique to it.
  struct Owner {
    ClientId client;
    const void* call;
  };
  // Queues work that handles `bytes`. Throws std::bad_alloc if there is no
  // memory; then nothing is queued. `work` should answer for its own
  // exceptions; one that comes out of it is dropped.
  void Run(Owner owner, int64_t bytes, std::function<void()> work);

  // Called by long work again and again, with no lock held. On a pool's thread,
  // it does up to kPieceBytes of others' short work whose turn has come. Does
  // nothing on other threads, or inside the work that it does.
  static void Yield();

 private:
  struct Work {
    int64_t bytes;
    std::function<void()> run;
  };
  // A share of the pool: a client's or, of that, a call's.
  struct Share {
    int running = 0;
    uint64_t served = 0;  // bytes, on the scale of those that it shares with
    uint64_t number = 0;  // in the order of arrival
  };
  // The place of a share with queued work.
  template <typename Key>
  struct Turn {
    uint64_t served;
    uint64_t number;
    Key key;
    auto operator<=>(const Turn&) const = default;
  };
  // Those with queued or running work, and the turns of those with queued work
  // (Sharer::waits).
  template <typename Key, typename Sharer>
  struct Sharers {
    std::map<Key, Sharer> all;
    std::set<Turn<Key>> turns;
    uint64_t now_served = 0;
    uint64_t seen = 0;

    Sharer& FindOrAdd(Key key);
    // Gives a sharer, whose first work was queued, its turn.
    void Enter(Key key);
    // Takes that back: the work could not be queued.
    void Withdraw(Key key);
    // A sharer's next work was taken from its queue and begins.
    void Serve(Key key, int64_t bytes);
    // A sharer's work is done. One without other work is forgotten.
    void Leave(Key key);
  };
  struct Call : Share {
    std::deque<Work> work;
    bool waits() const { return !work.empty(); }
  };
  struct Client : Share {
    Sharers<const void*, Call> calls;
    bool waits() const { return !calls.turns.empty(); }
  };

  void Loop();
  // Does an owner's next work, without the lock. Returns its bytes.
  int64_t RunLocked(Owner owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Does others' short work whose turn is before the owner's.
  void RunOthers(Owner owner);
  std::optional<Owner> NextShortLocked(Owner owner)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  Sharers<ClientId, Client> clients_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Thread> threads_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_WORK_POOL_H_
