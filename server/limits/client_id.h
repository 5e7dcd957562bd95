#ifndef TRIVIUM_SERVER_LIMITS_CLIENT_ID_H_
#define TRIVIUM_SERVER_LIMITS_CLIENT_ID_H_

#include <string>
#include <string_view>

#include "server/batching/request.h"
#include "server/limits/call_context.h"

namespace trivium {

// Returns whom a call belongs to; clients share the server evenly. A client is
// one value of the metadata key or, for calls without it, one address
// (NetworkOf).
ClientId ClientOf(const CallContext& context);

// Returns the client and the priority of a call; interactive if its priority is
// not valid.
Sender SenderOf(const CallContext& context);

// Returns the part of a peer's address that tells clients apart. Peers are
// "ipv4:127.0.0.1:50051", "ipv6:[2001:db8::1]:50051", "unix:/path":
//
//   IPv4: the address, also if it is mapped into IPv6;
//   IPv6: the 64-bit network. A subscriber or a machine gets such a network and
//         may use any address in it;
//   else: all Unix sockets are one client, and so are all unknown peers.
std::string NetworkOf(std::string_view peer);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_CLIENT_ID_H_
