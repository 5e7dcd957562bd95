#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_CONNECTION_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_CONNECTION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/socket.h"
#include "server/transports/grpc/http2_guard.h"

namespace trivium {

// A client's connection and gRPC's end of it, and the bytes on their way from
// one to the other. Never waits; of each direction it holds a piece or two.
class RelayedConnection {
 public:
  // The sockets do not block. `peer` is the client's address.
  RelayedConnection(UniqueFd client, UniqueFd grpc, std::string peer,
                    Http2Guard guard, absl::Time now);

  // Moves what can be moved. An error ends the connection: CANCELLED where it
  // is over, else what the client did.
  absl::Status MoveFromClient(absl::Time now);
  absl::Status MoveFromGrpc(absl::Time now);

  // The client hears of it with the next MoveFromGrpc.
  void GoAway() { guard_.GoAway(); }

  // gRPC has closed its end; what it has said before is still to be moved.
  void OnGrpcClosed() { grpc_closed_ = true; }

  // Of epoll: what it waits for.
  uint32_t client_events() const;
  uint32_t grpc_events() const;
  // When to call MoveFromClient though nothing happens: the guard lets it rest.
  std::optional<absl::Time> resume() const;

  // No call is open.
  bool idle() const { return grpc_closed_ || guard_.open_streams() == 0; }
  absl::Time last_active() const { return last_active_; }

  int client() const { return client_.get(); }
  int grpc() const { return grpc_.get(); }
  const std::string& peer() const { return peer_; }

 private:
  // What is for gRPC has gone; false where it takes no more now.
  bool SendToGrpc();
  // Nothing more is made for the client before it reads.
  bool client_is_behind() const {
    return to_client_.size() + guard_.unsaid() >= Http2Guard::kMostMade;
  }

  const UniqueFd client_;
  const UniqueFd grpc_;
  const std::string peer_;
  Http2Guard guard_;
  std::string from_client_;  // which the guard has not taken
  std::string to_grpc_;
  std::string to_client_;
  bool client_closed_ = false;
  bool grpc_closed_ = false;
  absl::Time last_active_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_CONNECTION_H_
