#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_ROUTES_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_ROUTES_H_

#include <span>
#include <string_view>

#include "server/adapters/codec.h"
#include "server/calls/handlers.h"
#include "server/observability/rpc.h"

namespace trivium {

// What a path of HTTP does: which call, and how it is written.
struct Route {
  std::string_view method;
  std::string_view path;  // one that ends with / is the beginning of others
  Rpc rpc;
  // One of the two.
  NewHandler* unary = nullptr;
  decltype(NewGenerate)* stream = nullptr;
  NewCodec* codec = nullptr;
};

// All of them; docs/openapi.json describes each, and kHealthPath.
std::span<const Route> Routes();
// Whether the server is ready: 200 or 503. It is no call.
inline constexpr std::string_view kHealthPath = "/health";

struct RouteMatch {
  const Route* route = nullptr;  // null: there is none for the method ...
  std::string_view allowed;      // ... but for this one; empty: no such path
};
// HEAD is GET's, too: the library leaves out the body.
RouteMatch FindRoute(std::string_view method, std::string_view path);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_ROUTES_H_
