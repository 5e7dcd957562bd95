#ifndef TRIVIUM_SERVER_SERVER_H_
#define TRIVIUM_SERVER_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/batching/batcher.h"
#include "server/calls/environment.h"
#include "server/limits/access.h"
#include "server/model_manager.h"
#include "server/observability/audit_log.h"
#include "server/observability/metrics.h"
#include "server/tracing/tracer.h"
#include "server/transports/net/credentials.h"

namespace trivium {

// A running server: gRPC with the API, health and reflection, HTTP with the
// API, and HTTP with metrics. It owns all that it is made of.
//
//   auto server = Server::Create(options, std::move(parts)).value();
//   ... server->port() ...
//   server->Drain();    // or the destructor, which cancels what runs
class Server {
 public:
  struct Options {
    std::string listen = "127.0.0.1:0";
    int max_connections = 4096;
    int max_streams = 1024;  // calls at a time, of a connection
    // After so long it is told to go; what is under way has drain_timeout.
    absl::Duration max_connection_age = absl::InfiniteDuration();
    bool open_health = true;     // as the environment's
    std::string http_listen;     // empty: none
    std::string metrics_listen;  // empty: none
    bool metrics_tls = false;    // metrics as gRPC and HTTP
    LoadReporting load_reports = LoadReporting::kOff;
    RequestLimits limits;
    bool truncate = false;
    std::string pivot_language;            // as the environment's
    int64_t max_waiting_tokens = 1 << 20;  // the batcher's
    int64_t memory_bytes = 0;  // the process's; 0: the cgroup's, the machine's
    absl::Duration drain_delay = absl::ZeroDuration();
    absl::Duration drain_timeout = absl::Seconds(30);
    const Clock* clock = Clock::Real();
  };

  // What it serves. The models are the batcher's and the metrics', which
  // observe it; the first is what calls get that name none.
  struct Parts {
    std::vector<ModelHandle> models;
    std::unique_ptr<Metrics> metrics;
    std::unique_ptr<Batcher> batcher;
    // Each may be null.
    std::unique_ptr<TlsCredentials> tls = nullptr;  // of gRPC and HTTP
    std::unique_ptr<Access> access = nullptr;       // who may call
    std::unique_ptr<AuditLog> audit = nullptr;
    std::unique_ptr<Tracer> tracer = nullptr;
    std::unique_ptr<ModelManager> manager = nullptr;
  };

  // Serves when it returns. The error names the address it cannot listen on.
  static absl::StatusOr<std::unique_ptr<Server>> Create(const Options& options,
                                                        Parts parts);

  virtual ~Server() = default;

  virtual int port() const = 0;
  virtual int http_port() const = 0;     // 0: none
  virtual int metrics_port() const = 0;  // 0: none

  // Says NOT_SERVING, waits drain_delay, refuses new calls, waits for those
  // that run and wait for at most drain_timeout, and cancels the rest. True
  // if all finished.
  virtual bool Drain() = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_SERVER_H_
