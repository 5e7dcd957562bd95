#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_ROUTES_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_ROUTES_H_

#include <span>
#include <string>
#include <string_view>

#include "server/adapters/codec.h"
#include "server/calls/allowed_models.h"
#include "server/calls/handlers.h"
#include "server/observability/rpc.h"

namespace trivium {

// Maps a method and path to a call, and to the codec for its messages.
struct Route {
  std::string_view method;
  std::string_view path;  // one that ends with / is a prefix; / alone is not
  Rpc rpc;
  // One of the two is set.
  NewHandler* unary = nullptr;
  decltype(NewGenerate)* stream = nullptr;
  NewCodec* codec = nullptr;
  // The member of a body that tells this route from others of the same method
  // and path. Empty: bodies that have none of the others' (ChooseRoute).
  std::string_view member = "";
  // The end of a path behind a name: "/infer" of "/v2/models/NAME/infer".
  std::string_view ending = "";
  bool filled = false;  // the member counts unless it is null, "" or []
  // The header that tells this route from one of the same method and path,
  // which comes first and has none (ChooseByHeader).
  std::string_view header = "";
};

// A path that other servers have for a route of this one.
struct PathTwin {
  std::string_view method, path, own;
};

// All routes and their twins. docs/openapi.json describes each, and the paths
// below.
std::span<const Route> Routes();
std::span<const PathTwin> PathTwins();
// Tell whether the server is ready: 200 or 503. They are no calls. GET / is
// one, too, unless a browser asks.
inline constexpr std::string_view kHealthPath = "/health";
inline constexpr std::string_view kPingPath = "/ping";
// The metrics, of a server with --http-metrics.
inline constexpr std::string_view kMetricsPath = "/metrics";

struct RouteMatch {
  const Route* route = nullptr;  // null: none for this method and path
  // If `route` is null: the methods that the path allows, "GET, HEAD, POST";
  // empty: no such path.
  std::string allowed = "";
  std::string path = "";  // as the route was found
};
// Finds the first route of a method and path. HEAD finds the routes of GET;
// libmicrohttpd leaves out the body. A path with doubled slashes or one at its
// end finds what it would without them, since clients join paths so. Only the
// paths of trivium.v1, where models are loaded, are found as they are written,
// so that a proxy in front can forbid them.
RouteMatch FindRoute(std::string_view method, std::string_view path);

// Words to add to "there is no PATH" for clients of APIs that have such a path;
// empty for others.
std::string_view HintFor(std::string_view path);

// The route of a head among those that share `route`'s method and path: the
// first whose header the head has, else `route`.
const Route& ChooseByHeader(const Route& route, const RequestHead& head);

// The route of a body among those that share `route`'s method, path and header.
// The first whose member the body has decides: it, and others of that member;
// else those without a member. Of several, the first that one of `models`
// serves, in the order of the models.
const Route& ChooseRoute(const Route& route, std::string_view body,
                         const AllowedModels& models);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_ROUTES_H_
