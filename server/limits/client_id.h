#ifndef TRIVIUM_SERVER_LIMITS_CLIENT_ID_H_
#define TRIVIUM_SERVER_LIMITS_CLIENT_ID_H_

#include <string>
#include <string_view>

#include "server/batching/request.h"
#include "server/limits/call_context.h"

namespace trivium {

// Who shares evenly with whom: the calls of one metadata key's value or, where
// a call has none, of one address of `context.peer`.
ClientId ClientOf(const CallContext& context);

// With its priority; interactive where that is none.
Sender SenderOf(const CallContext& context);

// What of a peer's address tells clients apart, of "ipv4:127.0.0.1:50051",
// "ipv6:[2001:db8::1]:50051", "unix:/path":
//   IPv4: the address, also where it is mapped into IPv6;
//   IPv6: the network of 64 bits, as a line or a machine gets, within which it
//         may take any address it likes;
//   else: all Unix sockets, and all peers that are not known, are one.
std::string NetworkOf(std::string_view peer);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_CLIENT_ID_H_
