#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_CONNECTION_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_CONNECTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/socket.h"
#include "server/transports/grpc/http2_guard.h"

namespace trivium {

// A client's connection, the socket that leads to gRPC, and the bytes on their
// way between the two. Never waits. Holds one or two pieces of 64 KiB in each
// direction.
class RelayedConnection {
 public:
  // The sockets are non-blocking. `peer` is the client's address. A client that
  // speaks HTTP/1 gets `http1_answer`, which outlives this.
  RelayedConnection(UniqueFd client, UniqueFd grpc, std::string peer,
                    Http2Guard guard, std::string_view http1_answer,
                    absl::Time now);

  // Move what can be moved now. An error ends the connection: CANCELLED if it
  // is over, else what the client did wrong.
  absl::Status MoveFromClient(absl::Time now);
  absl::Status MoveFromGrpc(absl::Time now);

  // Tells the client, with the next MoveFromGrpc, to go.
  void GoAway() { guard_.GoAway(); }

  // Ends the client's side. gRPC's stays until this is destroyed.
  void CloseClient() { client_ = UniqueFd(); }

  // gRPC has closed its end. What it wrote before is still moved.
  void OnGrpcClosed() { grpc_closed_ = true; }

  // The events of epoll that each side waits for.
  uint32_t client_events() const;
  uint32_t grpc_events() const;
  // Returns when to call MoveFromClient without an event, because the guard
  // lets the connection rest, or a message is late then. Nothing: never.
  std::optional<absl::Time> resume() const;

  // True if no call is open.
  bool idle() const { return open_calls() == 0; }
  // The number of calls that gRPC ends with the connection.
  size_t open_calls() const { return grpc_closed_ ? 0 : guard_.open_streams(); }
  absl::Time last_active() const { return last_active_; }

  int client() const { return client_.get(); }
  int grpc() const { return grpc_.get(); }
  const std::string& peer() const { return peer_; }

 private:
  // Sends bytes to gRPC. Returns true if none are left.
  bool SendToGrpc();
  // True while the client must read before more is prepared for it.
  bool client_is_behind() const {
    return to_client_.size() + guard_.unsaid() >= Http2Guard::kMostMade;
  }

  UniqueFd client_;
  const UniqueFd grpc_;
  const std::string peer_;
  Http2Guard guard_;
  const std::string_view http1_answer_;
  std::string from_client_;  // not yet consumed by the guard
  std::string to_grpc_;
  std::string to_client_;
  bool client_closed_ = false;
  bool grpc_closed_ = false;
  absl::Time last_active_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_CONNECTION_H_
