#ifndef TRIVIUM_SERVER_RPC_LISTENER_PROBE_H_
#define TRIVIUM_SERVER_RPC_LISTENER_PROBE_H_

#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/tls/credentials.h"

namespace trivium {

// Whether a new client would be heard: connects to the server's own address
// every `interval`, begins HTTP/2 and waits for the server's settings, on a
// thread of its own. With `tls`, which outlives it, it begins TLS first.
class ListenerProbe {
 public:
  // The first try is over when it is made.
  explicit ListenerProbe(const sockaddr_storage& address,
                         absl::Duration interval = absl::Seconds(1),
                         absl::Duration timeout = absl::Seconds(2),
                         const TlsCredentials* tls = nullptr);
  ~ListenerProbe();

  bool answering() const { return answering_; }
  // Tries no more.
  void Stop();

 private:
  void Run();

  const sockaddr_storage address_;
  const absl::Duration interval_;
  const absl::Duration timeout_;
  const TlsCredentials* const tls_;
  std::atomic<bool> answering_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_LISTENER_PROBE_H_
