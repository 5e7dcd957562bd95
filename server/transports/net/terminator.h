#ifndef TRIVIUM_SERVER_TRANSPORTS_NET_TERMINATOR_H_
#define TRIVIUM_SERVER_TRANSPORTS_NET_TERMINATOR_H_

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/acceptor.h"
#include "base/socket.h"
#include "server/observability/metrics.h"
#include "server/transports/net/credentials.h"

namespace trivium {

// Ends TLS in front of a server that knows none: accepts clients' connections,
// does their handshakes, and gives the server one end of a pair of Unix sockets
// for each, on which it reads and writes what is inside. What one side closes
// is closed for the other.
//
// One thread, which waits for no client: a handshake has handshake_timeout, at
// most max_handshakes are under way (for one more the oldest ends), few advance
// between two looks at the others, and of a connection at most 64 KiB in either
// direction are held. How many connections there are is the server's matter.
class TlsTerminator {
 public:
  struct Options {
    // What is spoken inside (stream.h); outlives the terminator.
    const std::string* protocol;
    int max_handshakes = 1024;
    absl::Duration handshake_timeout = absl::Seconds(10);
  };
  // A connection whose handshake is done: a socket that does not block, and its
  // client's address. On the terminator's thread; must not wait.
  using Deliver = std::function<void(UniqueFd socket, sockaddr_storage client)>;

  // `credentials` and `metrics` outlive it.
  static std::unique_ptr<TlsTerminator> Create(
      const Options& options, std::unique_ptr<Acceptor> acceptor,
      TlsCredentials* credentials, Metrics* metrics, Deliver deliver);

  // Sends what the server has still said (for at most a second), then ends all
  // connections.
  virtual ~TlsTerminator() = default;
  // Takes no new connections, and delivers none when it has returned.
  virtual void StopAccepting() = 0;
  virtual sockaddr_storage address() const = 0;
};

// The connections of such a terminator, for servers that accept themselves.
std::unique_ptr<Acceptor> NewTlsAcceptor(const TlsTerminator::Options& options,
                                         std::unique_ptr<Acceptor> acceptor,
                                         TlsCredentials* credentials,
                                         Metrics* metrics);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_TERMINATOR_H_
