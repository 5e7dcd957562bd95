#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAY_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAY_H_

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/observability/metrics.h"
#include "server/transports/grpc/call_turns.h"
#include "server/transports/grpc/header_fields.h"
#include "server/transports/grpc/http2_guard.h"
#include "server/transports/grpc/incoming_messages.h"
#include "server/transports/grpc/reset_streams.h"
#include "server/transports/net/credentials.h"

namespace trivium {

// Accepts the clients' connections and carries their bytes to gRPC and back.
// gRPC's own listener never accepts again after a moment without file
// descriptors, does not bound connections, and lets a few of them occupy all of
// its threads. The relay:
//   - allows max_connections, or fewer if the limit of open files is low; at
//     the limit, a new connection evicts the one idle longest;
//   - forwards only what Http2Guard lets pass, and reads from all connections
//     in turn;
//   - answers refused calls as soon as their heads have arrived, and lets the
//     others begin in turns of their clients (CallTurns);
//   - tells connections older than max_connection_age to go;
//   - holds at most 64 KiB of each connection in either direction: it does not
//     read from a side while the other does not read.
// One thread, which never waits for a client.
class Relay {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    int port = 0;  // 0: any that is free
    int max_connections = 4096;
    int max_streams = 1024;  // per connection
    // A connection of this age is told to go, and ends `age_grace` later.
    absl::Duration max_connection_age = absl::InfiniteDuration();
    absl::Duration age_grace = absl::Seconds(30);
    // The place where the server answers HTTP/1, for clients that come to this
    // port with it: "HTTP is at 127.0.0.1:8080".
    std::string http1_advice = "";
    // Null: no TLS. Else it outlives the relay.
    TlsCredentials* tls = nullptr;
  };
  // Gives gRPC its end of a new connection. gRPC closes the socket.
  using Connect = std::function<void(int socket)>;
  // The origin of a call: the client's address, and the connection's id.
  struct Origin {
    std::string peer;
    uint64_t connection;
  };
  // Http2Guard::Judge with the call's origin. If empty, gRPC gets all calls.
  // Called on the relay's thread.
  using Judge = std::function<Http2Guard::Judgement(
      HeaderFields* fields, const Origin& origin, bool may_refuse)>;

  // Listens when it returns. Returns UNAVAILABLE with the reason if it cannot.
  // The others outlive it. `turns` are those that `judge` gives to calls.
  static absl::StatusOr<std::unique_ptr<Relay>> Create(
      const Options& options, Connect connect, Metrics* metrics,
      ResetStreams* resets, CallTurns* turns, IncomingMessages* incoming,
      Judge judge = nullptr);

  // Forwards gRPC's last bytes (for at most a second), then ends all
  // connections. gRPC's server must have shut down before.
  virtual ~Relay() = default;
  // Accepts no more connections and tells clients to start their next calls
  // elsewhere. Open calls go on.
  virtual void GoAway() = 0;
  virtual int port() const = 0;
  // The address it listens on; the first if there are several.
  virtual sockaddr_storage address() const = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAY_H_
