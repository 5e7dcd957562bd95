#ifndef TRIVIUM_SERVER_OBSERVABILITY_HTTP_H_
#define TRIVIUM_SERVER_OBSERVABILITY_HTTP_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/observability/metrics.h"

namespace trivium {

// The small HTTP server beside gRPC:
//   /metrics  Prometheus' text format
//   /healthz  200 while the process lives
//   /readyz   200 while `ready` says so, else 503
// It has its own few threads and short timeouts, so that a scraper that hangs
// harms neither the calls nor other scrapers.
class HttpServer {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    int port = 9464;  // 0: any that is free
  };

  // Listens when it returns. `metrics` outlives the server; `ready` is called
  // on its threads.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Create(
      const Options& options, const Metrics* metrics,
      std::function<bool()> ready);

  virtual ~HttpServer() = default;
  virtual int port() const = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_HTTP_H_
