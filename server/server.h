#ifndef TRIVIUM_SERVER_SERVER_H_
#define TRIVIUM_SERVER_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/batching/batcher.h"
#include "server/calls/environment.h"
#include "server/calls/model_directory.h"
#include "server/limits/access.h"
#include "server/model_manager.h"
#include "server/observability/audit_log.h"
#include "server/observability/metrics.h"
#include "server/tracing/tracer.h"
#include "server/transports/net/credentials.h"

namespace trivium {

// A running server: gRPC with the API, health and reflection; HTTP with the
// API; and HTTP with metrics. Owns all its parts. Health says NOT_SERVING
// before it listens, while a step of an engine does not return, and from Drain
// on.
//
//   auto server = Server::Create(options, std::move(parts)).value();
//   ... server->port() ...
//   server->Drain();    // or the destructor, which cancels running calls
class Server {
 public:
  struct Options {
    std::string listen = "127.0.0.1:0";
    int max_connections = 4096;
    int max_streams = 1024;  // calls at a time on one connection
    // Age at which a connection is told to close; its calls then have
    // drain_timeout.
    absl::Duration max_connection_age = absl::InfiniteDuration();
    bool open_health = true;                 // see Environment
    std::string http_listen;                 // empty: none
    bool http_if_free = false;               // no HTTP if its port is taken
    std::vector<std::string> allowed_hosts;  // HttpApi::Options
    std::vector<std::string> cors_origins;   // HttpApi::Options
    bool page = true;                        // HttpApi::Options::page
    bool http_metrics = false;               // HttpApi::Options::metrics
    bool http_strict = false;                // IgnoredMembers
    // HttpApi::Options::keep_alive
    absl::Duration sse_keep_alive = absl::InfiniteDuration();
    std::string metrics_listen;  // empty: none
    bool metrics_tls = false;    // serve metrics with Parts::tls
    LoadReporting load_reports = LoadReporting::kOff;
    RequestLimits limits;
    bool truncate = false;
    ModelNames model_names;                // see ModelDirectory
    std::string pivot_language;            // see Environment
    int64_t max_waiting_tokens = 1 << 20;  // the batcher's
    // Memory of the process; 0: that of the cgroup or the machine.
    int64_t memory_bytes = 0;
    absl::Duration drain_delay = absl::ZeroDuration();
    absl::Duration drain_timeout = absl::Seconds(30);
    const Clock* clock = Clock::Real();
  };

  // The parts that startup makes. The models have been added to the batcher and
  // to the metrics, which observe the batcher; calls that name no model get the
  // first that serves them.
  struct Parts {
    std::vector<ModelHandle> models;
    std::unique_ptr<Metrics> metrics;
    std::unique_ptr<Batcher> batcher;
    // Each may be null.
    std::unique_ptr<TlsCredentials> tls = nullptr;  // for gRPC and HTTP
    std::unique_ptr<Access> access = nullptr;       // who may call
    std::unique_ptr<AuditLog> audit = nullptr;
    std::unique_ptr<Tracer> tracer = nullptr;
    std::unique_ptr<ModelManager> manager = nullptr;
  };

  // Returns a server that serves. The error names the address that it cannot
  // listen on.
  static absl::StatusOr<std::unique_ptr<Server>> Create(const Options& options,
                                                        Parts parts);

  virtual ~Server() = default;

  virtual int port() const = 0;
  virtual int http_port() const = 0;     // 0: none
  virtual int metrics_port() const = 0;  // 0: none

  // Reports NOT_SERVING, waits for drain_delay, and refuses new calls. Then
  // waits for running and queued calls for at most drain_timeout, and cancels
  // the rest. Returns true if all finished.
  virtual bool Drain() = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_SERVER_H_
