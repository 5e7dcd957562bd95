#ifndef TRIVIUM_SERVER_TRANSPORTS_NET_TERMINATOR_H_
#define TRIVIUM_SERVER_TRANSPORTS_NET_TERMINATOR_H_

#include <sys/socket.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/acceptor.h"
#include "base/socket.h"
#include "server/observability/metrics.h"
#include "server/transports/net/credentials.h"

namespace trivium {

struct TlsTerminatorOptions {
  // The protocol inside TLS (stream.h); outlives the terminator.
  const std::string* protocol;
  int max_handshakes = 1024;
  absl::Duration handshake_timeout = absl::Seconds(10);
};

// An Acceptor that terminates TLS in front of a server that does not speak it.
// It accepts clients' connections, does their handshakes, and gives the server
// one end of a pair of Unix sockets for each connection, on which it reads and
// writes plain bytes. When one side closes, the other side is closed, too.
//
//   client ── TLS ── terminator ── pair of Unix sockets ── server
//
// One thread, which waits for no client:
//   - a handshake has handshake_timeout;
//   - at most max_handshakes are under way; one more ends the oldest;
//   - few handshakes advance in one round, so that open connections go on;
//   - of a connection, at most 64 KiB are held in either direction.
// The server bounds the number of open connections. The destructor sends what
// the server has written (for at most a second), then ends all connections.
//
// `acceptor` has the port; `credentials` and `metrics` outlive the terminator.
std::unique_ptr<Acceptor> NewTlsTerminator(const TlsTerminatorOptions& options,
                                           std::unique_ptr<Acceptor> acceptor,
                                           TlsCredentials* credentials,
                                           Metrics* metrics);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_TERMINATOR_H_
