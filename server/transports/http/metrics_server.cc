#include "server/transports/http/metrics_server.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "absl/memory/memory.h"
#include "base/acceptor.h"
#include "base/status.h"

namespace trivium {
namespace {

struct Answer {
  int status = 200;
  std::string body;
  const char* type = "text/plain";
};

Answer AnswerTo(std::string_view method, std::string_view path,
                const Metrics& metrics, const std::function<bool()>& ready) {
  if (method != "GET" && method != "HEAD") return {405, "use GET\n"};
  if (path == "/metrics") return {200, metrics.Text(), kMetricsType};
  if (path == "/healthz") return {200, "ok\n"};
  if (path == "/readyz") {
    return ready() ? Answer{200, "ready\n"} : Answer{503, "not ready\n"};
  }
  return {404, "there are /metrics, /healthz and /readyz\n"};
}

}  // namespace

// No phase is set, so a connection is idle and may be evicted all its life, and
// request_timeout bounds all of it.
absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Create(
    const Options& options, Metrics* metrics, std::function<bool()> ready) {
  HttpDaemon::Options daemon;
  daemon.host = options.host;
  daemon.port = options.port;
  daemon.tls = options.tls;
  daemon.max_connections = kMaxConnections;
  daemon.request_timeout = options.timeout;
  daemon.connection_bytes = 8 << 10;
  daemon.strict = false;  // probes may be written by hand
  auto listening = HttpDaemon::Listen(daemon, metrics);
  if (!listening.ok()) {
    return absl::UnavailableError(fmt::format(
        "cannot listen on {} for metrics: {}; choose another address or "
        "port with --metrics-listen, or none with --metrics-listen off",
        ListenText(options.host, options.port),
        std::string(listening.status().message())));
  }
  auto server = absl::WrapUnique(new MetricsServer(metrics, std::move(ready)));
  server->daemon_ = *std::move(listening);
  TRIVIUM_RETURN_IF_ERROR(server->daemon_->Serve(server.get()));
  return server;
}

// Answers as soon as the head is there.
bool MetricsServer::OnRequest(MHD_Connection* connection, const char* path,
                              const char* method, const char*, size_t*,
                              void**) {
  Answer answer = AnswerTo(method, path, *metrics_, ready_);
  return QueueResponse(connection, answer.status,
                       {{"Content-Type", answer.type}, {"Connection", "close"}},
                       WholeResponse(std::move(answer.body)));
}

}  // namespace trivium
