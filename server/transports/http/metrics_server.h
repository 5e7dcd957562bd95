#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_METRICS_SERVER_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/socket.h"
#include "server/observability/metrics.h"
#include "server/transports/http/daemon.h"

namespace trivium {

// The name that Prometheus gives its text format.
inline constexpr char kMetricsType[] =
    "text/plain; version=0.0.4; charset=utf-8";

// The HTTP server for probes and Prometheus:
//   /metrics  Prometheus' text format
//   /healthz  200 while the process lives
//   /readyz   200 while `ready` returns true, else 503
//
// Anybody may reach its port, so no client can hold up a probe. It has threads
// of its own, which wait for no client. A connection carries one request. Its
// head and its whole time are bounded, its body is not read, and at
// kMaxConnections a new connection evicts the oldest.
class MetricsServer final : public HttpService {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    int port = 9464;  // 0: any that is free
    // The longest life of a connection.
    absl::Duration timeout = absl::Seconds(5);
    // Null: no TLS. Else it outlives the server.
    TlsCredentials* tls = nullptr;
  };
  // Half of them may come from one client.
  static constexpr int kMaxConnections = 64;

  // Listens when it returns. The error names the address. `metrics` outlives
  // the server; `ready` is called on its thread.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Create(
      const Options& options, Metrics* metrics, std::function<bool()> ready);

  int port() const { return PortOf(daemon_->address()); }

  // HttpService:
  bool OnRequest(MHD_Connection* connection, const char* path,
                 const char* method, const char* data, size_t* size,
                 void** context) override;
  void OnCompleted(void*) override {}

 private:
  MetricsServer(const Metrics* metrics, std::function<bool()> ready)
      : metrics_(metrics), ready_(std::move(ready)) {}

  const Metrics* const metrics_;
  const std::function<bool()> ready_;
  std::unique_ptr<HttpDaemon> daemon_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_METRICS_SERVER_H_
