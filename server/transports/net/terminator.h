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

// Terminates TLS in front of a server that does not speak it. Accepts clients'
// connections, does their handshakes, and gives the server one end of a pair of
// Unix sockets for each connection, on which it reads and writes plain bytes.
// When one side closes, the other side is closed, too.
//
//   client ── TLS ── terminator ── pair of Unix sockets ── server
//
// One thread, which waits for no client:
//   - a handshake has handshake_timeout;
//   - at most max_handshakes are under way; one more ends the oldest;
//   - few handshakes advance in one round, so that open connections go on;
//   - of a connection, at most 64 KiB are held in either direction.
// The server bounds the number of open connections.
class TlsTerminator {
 public:
  struct Options {
    // The protocol inside TLS (stream.h); outlives the terminator.
    const std::string* protocol;
    int max_handshakes = 1024;
    absl::Duration handshake_timeout = absl::Seconds(10);
  };
  // Takes a connection whose handshake is done: a non-blocking socket and the
  // client's address. Called on the terminator's thread; must not wait.
  using Deliver = std::function<void(UniqueFd socket, sockaddr_storage client)>;

  // `credentials` and `metrics` outlive it.
  static std::unique_ptr<TlsTerminator> Create(
      const Options& options, std::unique_ptr<Acceptor> acceptor,
      TlsCredentials* credentials, Metrics* metrics, Deliver deliver);

  // Sends what the server has written (for at most a second), then ends all
  // connections.
  virtual ~TlsTerminator() = default;
  // Accepts no more connections, and delivers none after it has returned.
  virtual void StopAccepting() = 0;
  virtual sockaddr_storage address() const = 0;
};

// Returns a terminator as an Acceptor, for servers that accept connections
// themselves.
std::unique_ptr<Acceptor> NewTlsAcceptor(const TlsTerminator::Options& options,
                                         std::unique_ptr<Acceptor> acceptor,
                                         TlsCredentials* credentials,
                                         Metrics* metrics);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_TERMINATOR_H_
