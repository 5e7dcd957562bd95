#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_HTTP_API_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_HTTP_API_H_

#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/socket.h"
#include "server/calls/environment.h"
#include "server/limits/overload_manager.h"
#include "server/transports/http/daemon.h"

namespace trivium {

// The API over HTTP/1.1 on one port: the calls of Routes(), with the same
// handlers as gRPC. An HttpDaemon serves the connections.
class HttpApi {
 public:
  struct Options : HttpDaemon::Options {
    // Names with dots that requests may ask for where nobody needs a token, in
    // small letters; "*": any (IsAllowedHost).
    std::vector<std::string> allowed_hosts;
    // Origins whose pages may read answers (ParseOrigin); empty: none.
    std::vector<std::string> cors_origins;
    // Serves the page for browsers (BrowserPage).
    bool page = true;
    // Answers GET /metrics, too.
    bool metrics = false;
    // Time after which a silent stream of events gets a comment.
    absl::Duration keep_alive = absl::InfiniteDuration();
  };

  // Serves when it returns. The error names the address. `environment` and
  // `overload` outlive it.
  static absl::StatusOr<std::unique_ptr<HttpApi>> Create(
      const Options& options, const Environment& environment,
      OverloadManager* overload);

  // Stop must have been called.
  virtual ~HttpApi() = default;

  // The address it listens on; the first if there are several.
  virtual sockaddr_storage address() const = 0;
  int port() const { return PortOf(address()); }
  // Accepts no more connections; open ones go on.
  virtual void GoAway() = 0;
  // Ends all connections and waits until no handler will use its transport
  // again. The batcher must have ended all requests.
  virtual void Stop() = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_HTTP_API_H_
