#ifndef TRIVIUM_SERVER_TRANSPORTS_NET_CARRIER_H_
#define TRIVIUM_SERVER_TRANSPORTS_NET_CARRIER_H_

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/acceptor.h"
#include "base/socket.h"
#include "server/observability/metrics.h"
#include "server/transports/net/byte_guard.h"
#include "server/transports/net/credentials.h"

namespace trivium {

struct CarrierOptions {
  // Null: no TLS. Else it outlives the carrier.
  TlsCredentials* tls = nullptr;
  // The protocol inside TLS (stream.h); outlives the carrier.
  const std::string* protocol = nullptr;
  // Makes the guard of a connection. Unset: bytes pass as they come.
  std::function<std::unique_ptr<ByteGuard>()> guard = nullptr;
  int max_handshakes = 1024;
  absl::Duration handshake_timeout = absl::Seconds(10);
  // Time in which a client must read something of what the server sent before
  // it closed.
  absl::Duration stall_timeout = absl::Seconds(30);
};

// An Acceptor that carries clients' bytes to a server that speaks no TLS, or
// whose library reads more than it should. It accepts the connections, does
// their handshakes, and gives the server one end of a pair of Unix sockets for
// each connection, on which the server reads what the guard lets pass.
//
//   client ── TLS or not ── carrier ── pair of Unix sockets ── server
//
// One thread, which waits for no client:
//   - a handshake has handshake_timeout;
//   - at most max_handshakes are under way; one more ends the oldest;
//   - few handshakes advance in one round, so that open connections go on;
//   - of a connection, at most 64 KiB are held in either direction, and what
//     its guard holds;
//   - a connection has three files from the start, so that one which the server
//     could not get is never accepted.
// When one side closes, the other side is closed, too; of connections that the
// server has closed, at most 256 wait for their clients. The server bounds the
// number of open connections; it learns of missing file descriptors as if it
// accepted by itself. The destructor sends what the server has written (for at
// most a second), then ends all connections.
//
// `acceptor` has the port; `metrics` outlives the carrier.
std::unique_ptr<Acceptor> NewCarrier(const CarrierOptions& options,
                                     std::unique_ptr<Acceptor> acceptor,
                                     Metrics* metrics);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_CARRIER_H_
