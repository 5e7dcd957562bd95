#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_PEER_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_PEER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/socket.h"

namespace trivium {

// gRPC knows a peer by its socket's name only. So the relay binds its end of
// each pair of Unix sockets to an abstract name that contains the client's
// address.

// The two ends of a connection to gRPC.
struct RelayedPair {
  UniqueFd ours;
  UniqueFd grpcs;
};

// Returns two non-blocking sockets for a client at `peer`. `id` must be unique
// among this process's connections. Nothing, with errno, if the system gives
// none.
std::optional<RelayedPair> NewRelayedPair(const std::string& peer, uint64_t id);

// Returns the client's address, "ipv4:127.0.0.1:5000", from the peer that gRPC
// names for a connection of the relay.
std::string PeerOfRelayed(const std::string& peer);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_RELAYED_PEER_H_
