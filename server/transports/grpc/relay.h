#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAY_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAY_H_

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/observability/metrics.h"
#include "server/transports/grpc/header_fields.h"
#include "server/transports/grpc/http2_guard.h"
#include "server/transports/grpc/incoming_messages.h"
#include "server/transports/grpc/reset_streams.h"
#include "server/transports/net/credentials.h"

namespace trivium {

// Accepts the clients' connections and carries their bytes to gRPC and back.
// gRPC's own listener never accepts again after a moment without file
// descriptors, counts no connections, and lets a few of them take all of its
// threads; this one
//   - takes at most max_connections, fewer where the limit of open files asks
//     for it; for one more, the one that has been idle the longest goes;
//   - lets pass what Http2Guard lets pass, and reads from all in turn;
//   - answers calls that are refused as soon as their heads are there;
//   - tells connections of max_connection_age to go;
//   - holds at most 64 KiB of each in either direction: who does not read is
//     not read from.
// One thread, which never waits for a client.
class Relay {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    int port = 0;  // 0: any that is free
    int max_connections = 4096;
    int max_streams = 1024;  // of a connection
    // A connection of this age is told to go, and is ended when what is under
    // way has had its grace.
    absl::Duration max_connection_age = absl::InfiniteDuration();
    absl::Duration age_grace = absl::Seconds(30);
    // Null: bytes come as they are; else it outlives the relay.
    TlsCredentials* tls = nullptr;
  };
  // Gives gRPC its end of a new connection: a socket that it closes.
  using Connect = std::function<void(int socket)>;
  // Http2Guard::Judge, of a client's address; empty: gRPC gets all calls. On
  // the relay's thread.
  using Judge = std::function<Http2Guard::Judgement(
      HeaderFields* fields, const std::string& peer, bool may_refuse)>;

  // Listens when it returns. UNAVAILABLE tells why it cannot.
  static absl::StatusOr<std::unique_ptr<Relay>> Create(
      const Options& options, Connect connect, Metrics* metrics,
      ResetStreams* resets, IncomingMessages* incoming, Judge judge = nullptr);

  // Sends what gRPC has still said (for at most a second), then ends all
  // connections. Only after gRPC's server has shut down.
  virtual ~Relay() = default;
  // Takes no new connections, and tells the clients of those there are to begin
  // their next calls elsewhere; what is under way goes on.
  virtual void GoAway() = 0;
  virtual int port() const = 0;
  // Where it listens (the first address, where there are several).
  virtual sockaddr_storage address() const = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAY_H_
