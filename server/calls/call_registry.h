#ifndef TRIVIUM_SERVER_CALLS_CALL_REGISTRY_H_
#define TRIVIUM_SERVER_CALLS_CALL_REGISTRY_H_

#include <atomic>
#include <set>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "server/calls/transport.h"

namespace trivium {

// The calls under way. Refuses new ones while the server drains, and says when
// none is left. It also ticks streams on a thread of its own, so that they can
// cancel themselves when their reader stalls or their time is over, and read on
// when there is room again. Thread-safe.
class CallRegistry {
 public:
  // Throws std::system_error if the system gives no thread.
  explicit CallRegistry(const Clock* clock,
                        absl::Duration tick = absl::Milliseconds(20));
  ~CallRegistry();
  CallRegistry(const CallRegistry&) = delete;
  CallRegistry& operator=(const CallRegistry&) = delete;

  // True, at first, if clients should send calls here; health says so.
  void SetReady(bool ready) { ready_ = ready; }
  bool ready() const { return ready_; }

  // Returns false while draining. Each Begin, whatever it returns, is followed
  // by one End.
  bool Begin();
  void End();

  // `stream` hears OnTick and OnDrain from Add to Remove, both of which are
  // between Begin and End.
  void Add(Handler* stream);
  void Remove(Handler* stream);

  // Refuses calls from now on, tells the streams, and waits until the last call
  // has ended or `timeout` (real time) has passed. Returns true if all ended.
  bool Drain(absl::Duration timeout);

 private:
  void TickLoop();

  const Clock* const clock_;
  const absl::Duration tick_;
  std::atomic<bool> ready_ = true;
  Mutex mutex_;
  CondVar changed_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<Handler*> streams_ ABSL_GUARDED_BY(mutex_);
  Thread ticker_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CALL_REGISTRY_H_
