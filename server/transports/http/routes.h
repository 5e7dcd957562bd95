#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_ROUTES_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_ROUTES_H_

#include <span>
#include <string_view>

#include "server/adapters/codec.h"
#include "server/calls/handlers.h"
#include "server/observability/rpc.h"

namespace trivium {

// Maps a method and path to a call, and to the codec for its messages.
struct Route {
  std::string_view method;
  std::string_view path;  // one that ends with / is a prefix
  Rpc rpc;
  // One of the two is set.
  NewHandler* unary = nullptr;
  decltype(NewGenerate)* stream = nullptr;
  NewCodec* codec = nullptr;
};

// All routes. docs/openapi.json describes each, and kHealthPath.
std::span<const Route> Routes();
// Tells whether the server is ready: 200 or 503. It is not a call.
inline constexpr std::string_view kHealthPath = "/health";

struct RouteMatch {
  const Route* route = nullptr;  // null: none for this method and path
  // If `route` is null: the methods that the path allows; empty: no such path.
  std::string_view allowed;
};
// HEAD finds the routes of GET; libmicrohttpd leaves out the body.
RouteMatch FindRoute(std::string_view method, std::string_view path);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_ROUTES_H_
