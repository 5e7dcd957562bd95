#include "server/observability/http.h"

#include <fmt/format.h>
#include <httplib.h>

#include <thread>
#include <utility>

namespace trivium {
namespace {

constexpr int kThreads = 4;
constexpr int kTimeoutSeconds = 5;
// What Prometheus names its text format.
constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

class HttpServerImpl : public HttpServer {
 public:
  HttpServerImpl(const Metrics* metrics, std::function<bool()> ready) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_read_timeout(kTimeoutSeconds);
    server_.set_write_timeout(kTimeoutSeconds);
    server_.set_keep_alive_timeout(kTimeoutSeconds);
    server_.set_payload_max_length(0);
    // Not httplib's own choice, SO_REUSEPORT: with it a second server on the
    // port would silently take some of the scrapes.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    server_.Get("/metrics", [metrics](const auto&, auto& response) {
      response.set_content(metrics->Text(), kMetricsType);
    });
    server_.Get("/healthz", [](const auto&, auto& response) {
      response.set_content("ok\n", "text/plain");
    });
    server_.Get("/readyz", [ready](const auto&, auto& response) {
      const bool is_ready = ready();
      response.status = is_ready ? 200 : 503;
      response.set_content(is_ready ? "ready\n" : "not ready\n", "text/plain");
    });
  }

  ~HttpServerImpl() override {
    if (thread_.joinable()) {
      // stop() does nothing before the loop of listen_after_bind has begun.
      while (!server_.is_running()) std::this_thread::yield();
      server_.stop();
      thread_.join();
    }
  }

  absl::Status Listen(const Options& options) {
    port_ = options.port;
    const bool bound =
        port_ == 0 ? (port_ = server_.bind_to_any_port(options.host)) > 0
                   : server_.bind_to_port(options.host, port_);
    if (!bound) {
      return absl::UnavailableError(fmt::format(
          "cannot listen on {}:{} for metrics; is the port in use? Choose "
          "another with --metrics-listen, or none with --metrics-listen=",
          options.host, options.port));
    }
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    return absl::OkStatus();
  }

  int port() const override { return port_; }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Create(
    const Options& options, const Metrics* metrics,
    std::function<bool()> ready) {
  auto server = std::make_unique<HttpServerImpl>(metrics, std::move(ready));
  if (absl::Status status = server->Listen(options); !status.ok()) {
    return status;
  }
  return server;
}

}  // namespace trivium
