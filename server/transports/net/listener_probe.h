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

// A greeting for a server, and how its answer begins: kProbeBytes bytes.
inline constexpr size_t kProbeBytes = 9;
struct ProbeProtocol {
  const char* name;  // "gRPC", for the log
  std::string_view hello;
  bool (*is_answer)(std::string_view begin);
  const std::string* tls;  // the protocol in ALPN's encoding (stream.h)
};
// An HTTP/2 server answers with its settings.
extern const ProbeProtocol kProbeHttp2;
// Any answer of HTTP/1 will do; nothing is served at "/".
extern const ProbeProtocol kProbeHttp1;

// Finds out whether the server would answer a new client: connects to the
// server's own address every `interval`, sends a greeting and waits for an
// answer, on a thread of its own. With `tls`, which outlives it, it does a TLS
// handshake first.
class ListenerProbe {
 public:
  // Tries once before it returns.
  ListenerProbe(const ProbeProtocol& protocol, const sockaddr_storage& address,
                const TlsCredentials* tls = nullptr,
                absl::Duration interval = absl::Seconds(1),
                absl::Duration timeout = absl::Seconds(2));

  // True if the last try was answered.
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
