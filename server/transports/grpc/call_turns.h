#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_CALL_TURNS_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_CALL_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/limits/call_context.h"

namespace trivium {

// Turns of clients to begin calls. gRPC begins calls in the order in which
// their messages come: a client's thousand calls at once would all begin before
// the next client's only one. So gRPC has at most `most` calls that have not
// begun. The other connections wait. On its turn a connection begins one call;
// clients take turns, and so do the connections of a client.
//
//   relay:   turn->Enter(now)        // false: the connection waits
//            while (connection = turns.Next(now)) move it
//   handler: turns.Begun(call)
//
// Thread-safe. Enter and Next are called by one thread.
class CallTurns {
 public:
  // A call that has not begun by then no longer counts: gRPC may have refused
  // it without making its handler.
  static constexpr absl::Duration kLongest = absl::Milliseconds(100);

  explicit CallTurns(size_t most) : most_(most) {}

  // A call's way to its handler. It ends with the call's stream at the latest.
  // Must not outlive its CallTurns.
  class Turn {
   public:
    Turn(CallTurns* owner, CallId call, ClientId client, uint64_t connection)
        : owner_(owner),
          call_(call),
          client_(client),
          connection_(connection) {}
    ~Turn() {
      if (entered_) owner_->Begun(call_);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Returns true if gRPC may get the call now, and counts it. False: its
    // connection waits for Next.
    bool Enter(absl::Time now) {
      entered_ = entered_ || owner_->Enter(*this, now);
      return entered_;
    }

   private:
    friend class CallTurns;
    CallTurns* const owner_;
    const CallId call_;
    const ClientId client_;
    const uint64_t connection_;
    bool entered_ = false;
  };

  // The handler of a call has begun, or never will.
  void Begun(CallId call);

  // Returns the connection whose turn it is, if a call may begin. Its next call
  // may enter, if the connection offers one before Next is called again. It may
  // have ended meanwhile.
  std::optional<uint64_t> Next(absl::Time now);

  // `wake` is called on any thread when connections wait and Next has something
  // to return. It must not call back. Null: nobody is woken.
  void SetWake(std::function<void()> wake);

 private:
  bool Enter(const Turn& turn, absl::Time now);
  void ExpireLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool OthersWaitLocked(uint64_t connection) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_;
  Mutex mutex_;
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
  // The calls that gRPC has and that have not begun, with when they entered;
  // and all that have entered, oldest first, until they are looked at.
  absl::flat_hash_map<CallId, absl::Time> entered_ ABSL_GUARDED_BY(mutex_);
  std::deque<CallId> oldest_ ABSL_GUARDED_BY(mutex_);
  // The connections that wait; those of each client, and the clients, in the
  // order of their turns.
  absl::flat_hash_set<uint64_t> waiting_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<ClientId, std::deque<uint64_t>> lines_
      ABSL_GUARDED_BY(mutex_);
  std::deque<ClientId> clients_ ABSL_GUARDED_BY(mutex_);
  std::optional<uint64_t> turn_ ABSL_GUARDED_BY(mutex_);  // what Next returned
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_CALL_TURNS_H_
