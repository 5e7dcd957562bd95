#ifndef TRIVIUM_SERVER_TRANSPORTS_NET_LISTENER_PROBE_H_
#define TRIVIUM_SERVER_TRANSPORTS_NET_LISTENER_PROBE_H_

#include <sys/socket.h>

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "base/repeating_thread.h"
#include "server/transports/net/credentials.h"

namespace trivium {

// What is said to a server, and how its answer begins: its first kProbeBytes.
inline constexpr size_t kProbeBytes = 9;
struct ProbeProtocol {
  const char* name;  // "gRPC", for the log
  std::string_view hello;
  bool (*is_answer)(std::string_view begin);
  const std::string* tls;  // as ALPN has it
};
// A server's first word in HTTP/2 is its settings.
extern const ProbeProtocol kProbeHttp2;
// Any answer; "/" is nothing that is served.
extern const ProbeProtocol kProbeHttp1;

// Whether a new client would be heard: connects to the server's own address
// every `interval`, says hello and waits for an answer, on a thread of its own.
// With `tls`, which outlives it, it begins TLS first.
class ListenerProbe {
 public:
  // The first try is over when it is made.
  ListenerProbe(const ProbeProtocol& protocol, const sockaddr_storage& address,
                const TlsCredentials* tls = nullptr,
                absl::Duration interval = absl::Seconds(1),
                absl::Duration timeout = absl::Seconds(2));

  bool answering() const { return answering_; }
  // Tries no more.
  void Stop() { probing_.reset(); }

 private:
  void Probe();

  const ProbeProtocol& protocol_;
  const sockaddr_storage address_;
  const TlsCredentials* const tls_;
  const absl::Duration timeout_;
  std::atomic<bool> answering_;
  std::optional<RepeatingThread> probing_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_LISTENER_PROBE_H_
