#include "server/server.h"

#include <fmt/format.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "absl/time/clock.h"
#include "base/status.h"
#include "server/observability/http.h"
#include "server/options.h"
#include "server/rpc/service.h"

namespace trivium {
namespace {

// gRPC refuses what is larger before we see it; a request that is only a
// little too large gets our own message.
constexpr int64_t kReceiveMargin = 1 << 20;
constexpr int kPoolThreads = 2;
// For what gRPC itself still has to say when all calls have ended.
constexpr absl::Duration kShutdownGrace = absl::Milliseconds(500);

class ServerImpl : public Server {
 public:
  ServerImpl(const Options& options, Parts parts)
      : options_(options),
        parts_(std::move(parts)),
        calls_(options.clock),
        tokenizing_(kPoolThreads),
        delivery_(kPoolThreads) {
    for (size_t i = 0; i < parts_.models.size(); ++i) {
      const NamedModel& model = parts_.models[i];
      environment_.models.push_back({model.name, model.model.get(),
                                     static_cast<int>(i), model.kv_cache_bytes,
                                     options.result_cache_bytes});
    }
    environment_.limits = options.limits;
    environment_.truncate = options.truncate;
    environment_.max_waiting_tokens = options.max_waiting_tokens;
    environment_.batcher = parts_.batcher.get();
    environment_.metrics = parts_.metrics.get();
    environment_.calls = &calls_;
    environment_.tokenizing = &tokenizing_;
    environment_.delivery = &delivery_;
    environment_.clock = options.clock;
    services_ = NewServices(environment_);
  }

  ~ServerImpl() override { Stop(absl::ZeroDuration()); }

  absl::Status Listen() {
    static std::once_flag plugins;
    std::call_once(plugins, [] {
      grpc::EnableDefaultHealthCheckService(true);
      grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    });
    grpc::ServerBuilder builder;
    builder.AddListeningPort(options_.listen, grpc::InsecureServerCredentials(),
                             &port_);
    for (const auto& service : services_) {
      builder.RegisterService(service.get());
    }
    const int64_t receive = options_.limits.max_request_bytes + kReceiveMargin;
    builder.SetMaxReceiveMessageSize(
        static_cast<int>(std::min<int64_t>(receive, INT_MAX)));
    builder.SetMaxSendMessageSize(-1);  // SerializeMessage checks
    // Else a second server on the port would silently share its calls.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // Notices clients that vanished, and lets those ping that look after
    // their idle connections.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
    builder.AddChannelArgument(
        GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      return absl::UnavailableError(fmt::format(
          "cannot listen on {}; is the address right and the port free? "
          "Choose another with --listen",
          options_.listen));
    }
    TRIVIUM_RETURN_IF_ERROR(ListenForMetrics());
    SetServing(true);
    return absl::OkStatus();
  }

  int port() const override { return port_; }
  int metrics_port() const override {
    return http_ == nullptr ? 0 : http_->port();
  }

  bool Drain() override {
    SetServing(false);
    absl::SleepFor(options_.drain_delay);
    return Stop(options_.drain_timeout);
  }

 private:
  absl::Status ListenForMetrics() {
    if (options_.metrics_listen.empty()) return absl::OkStatus();
    TRIVIUM_ASSIGN_OR_RETURN(const HostPort address,
                             ParseHostPort(options_.metrics_listen));
    TRIVIUM_ASSIGN_OR_RETURN(
        http_,
        HttpServer::Create({address.host, address.port}, parts_.metrics.get(),
                           [this] { return serving_.load(); }));
    return absl::OkStatus();
  }

  void SetServing(bool serving) {
    serving_ = serving;
    grpc::HealthCheckServiceInterface* health =
        server_->GetHealthCheckService();
    health->SetServingStatus(serving);  // the server as a whole, ""
    health->SetServingStatus("trivium.v1.Inference", serving);
    health->SetServingStatus("trivium.v1.Models", serving);
  }

  // Calls are refused by ourselves and not by closing the port: watches of
  // health and reflection have no end of their own and would hold it up.
  bool Stop(absl::Duration timeout) {
    if (stopped_ || server_ == nullptr) return true;
    stopped_ = true;
    const bool finished = calls_.Drain(timeout);
    parts_.batcher->Drain(absl::ZeroDuration());
    // Cancels what is left; every call ends now that the batcher has spoken.
    server_->Shutdown(absl::ToChronoTime(absl::Now() + kShutdownGrace));
    server_->Wait();
    calls_.Drain(absl::InfiniteDuration());
    return finished;
  }

  const Options options_;
  // Destroyed last to first: the pools finish what the batcher said while
  // what all calls work with is there.
  Parts parts_;
  Environment environment_;
  CallRegistry calls_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> server_;
  WorkPool tokenizing_;
  WorkPool delivery_;
  std::unique_ptr<HttpServer> http_;
  std::atomic<bool> serving_{false};
  bool stopped_ = false;
  int port_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Create(const Options& options,
                                                       Parts parts) {
  auto server = std::make_unique<ServerImpl>(options, std::move(parts));
  TRIVIUM_RETURN_IF_ERROR(server->Listen());
  return server;
}

}  // namespace trivium
