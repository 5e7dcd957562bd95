#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_PEER_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_PEER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/socket.h"

namespace trivium {

// gRPC knows a peer by its socket's name only. So the relay's end of each pair
// of Unix sockets is bound to an abstract name that has the client's address.

// The two ends of a connection to gRPC.
struct RelayedPair {
  UniqueFd ours;
  UniqueFd grpcs;
};

// Sockets that do not block, for a client at `peer`; `id` is of no other
// connection of this process. Nothing, with errno, where the system gives none.
std::optional<RelayedPair> NewRelayedPair(const std::string& peer, uint64_t id);

// The address of a client, "ipv4:127.0.0.1:5000", of what gRPC knows as the
// peer of a connection that has come through a Relay.
std::string PeerOfRelayed(const std::string& peer);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_PEER_H_
