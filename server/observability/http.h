#ifndef TRIVIUM_SERVER_OBSERVABILITY_HTTP_H_
#define TRIVIUM_SERVER_OBSERVABILITY_HTTP_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/acceptor.h"
#include "server/observability/metrics.h"

namespace trivium {

// The small HTTP server beside gRPC:
//   /metrics  Prometheus' text format
//   /healthz  200 while the process lives
//   /readyz   200 while `ready` says so, else 503
//
// Made for a port that anybody may reach: one thread serves all connections and
// waits for none of them, so a client that sends nothing, a byte a second or no
// end of headers holds up no probe. A connection is one request; its headers,
// its time as a whole and the number of connections are bounded, a body is not
// read, and where there are too many connections the oldest ends.
class HttpServer {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    int port = 9464;  // 0: any that is free
    // From a connection's begin to its end.
    absl::Duration timeout = absl::Seconds(5);
  };
  static constexpr int kMaxConnections = 64;
  // Stands between the port and the server, to end TLS.
  using Through =
      std::function<std::unique_ptr<Acceptor>(std::unique_ptr<Acceptor>)>;

  // Listens when it returns. `metrics` outlives the server; `ready` is called
  // on its thread.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Create(
      const Options& options, const Metrics* metrics,
      std::function<bool()> ready, const Through& through = nullptr);

  virtual ~HttpServer() = default;
  virtual int port() const = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_HTTP_H_
