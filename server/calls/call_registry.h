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

// The calls under way. Refuses new ones while the server drains, tells when
// none is left, and ticks streams on a thread of its own: to cancel themselves
// when their reader stalls or their time is over, and to read on when there is
// room again. Thread-safe.
class CallRegistry {
 public:
  // std::system_error where the system gives no thread.
  explicit CallRegistry(const Clock* clock,
                        absl::Duration tick = absl::Milliseconds(20));
  ~CallRegistry();
  CallRegistry(const CallRegistry&) = delete;
  CallRegistry& operator=(const CallRegistry&) = delete;

  // Whether clients are to send calls here, as health says; true at first.
  void SetReady(bool ready) { ready_ = ready; }
  bool ready() const { return ready_; }

  // False while draining. Every Begin, whatever it answered, has its End.
  bool Begin();
  void End();

  // For streams that want Handler's OnTick and OnDrain, between Begin and End.
  // After Remove they do not hear them any more.
  void Add(Handler* stream);
  void Remove(Handler* stream);

  // Refuses calls from now on, tells the streams, and waits until the last
  // call ended or `timeout` passed (real time). True if all ended.
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
