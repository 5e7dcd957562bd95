#ifndef TRIVIUM_SERVER_RPC_LISTENER_PROBE_H_
#define TRIVIUM_SERVER_RPC_LISTENER_PROBE_H_

#include <sys/socket.h>

#include <atomic>
#include <optional>

#include "absl/time/time.h"
#include "base/repeating_thread.h"
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

  bool answering() const { return answering_; }
  // Tries no more.
  void Stop() { probing_.reset(); }

 private:
  void Probe();

  const sockaddr_storage address_;
  const absl::Duration timeout_;
  const TlsCredentials* const tls_;
  std::atomic<bool> answering_;
  std::optional<RepeatingThread> probing_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_LISTENER_PROBE_H_
