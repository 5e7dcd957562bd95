#ifndef TRIVIUM_SERVER_RPC_CALL_REGISTRY_H_
#define TRIVIUM_SERVER_RPC_CALL_REGISTRY_H_

#include <set>
#include <thread>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace trivium {

// A stream that wants to be looked at now and then: to cancel itself when its
// reader stalls or its time is over, and to read on when there is room again.
class Stream {
 public:
  virtual ~Stream() = default;
  // Must not block nor call the registry.
  virtual void OnTick(absl::Time now) = 0;
  // The server is stopping: finish what runs and end.
  virtual void OnDrain() = 0;
};

// The calls under way. Refuses new ones while the server drains, tells when
// none is left, and ticks the streams on a thread of its own. Thread-safe.
class CallRegistry {
 public:
  explicit CallRegistry(const Clock* clock,
                        absl::Duration tick = absl::Milliseconds(20));
  ~CallRegistry();
  CallRegistry(const CallRegistry&) = delete;
  CallRegistry& operator=(const CallRegistry&) = delete;

  // False while draining. Every Begin, whatever it answered, has its End.
  bool Begin();
  void End();

  // Between Begin and End. After Remove the stream is not called any more.
  void Add(Stream* stream);
  void Remove(Stream* stream);

  // Refuses calls from now on, tells the streams, and waits until the last
  // call ended or `timeout` passed (real time). True if all ended.
  bool Drain(absl::Duration timeout);

 private:
  void TickLoop();

  const Clock* const clock_;
  const absl::Duration tick_;
  Mutex mutex_;
  CondVar changed_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<Stream*> streams_ ABSL_GUARDED_BY(mutex_);
  std::thread ticker_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_CALL_REGISTRY_H_
