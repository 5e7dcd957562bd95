#include "server/server.h"

#include <atomic>
#include <utility>

#include "absl/time/clock.h"
#include "base/status.h"
#include "server/observability/http.h"
#include "server/options.h"
#include "server/rpc/grpc_server.h"

namespace trivium {
namespace {

constexpr int kPoolThreads = 2;

class ServerImpl : public Server {
 public:
  ServerImpl(const Options& options, Parts parts)
      : options_(options),
        parts_(std::move(parts)),
        calls_(options.clock),
        tokenizing_(kPoolThreads),
        delivery_(kPoolThreads) {
    environment_.limits = options.limits;
    environment_.truncate = options.truncate;
    environment_.max_waiting_tokens = options.max_waiting_tokens;
    environment_.batcher = parts_.batcher.get();
    environment_.metrics = parts_.metrics.get();
    environment_.calls = &calls_;
    environment_.tokenizing = &tokenizing_;
    environment_.delivery = &delivery_;
    environment_.clock = options.clock;
  }

  ~ServerImpl() override { Stop(absl::ZeroDuration()); }

  absl::Status Listen() {
    for (const ModelHandle& model : parts_.models) {
      TRIVIUM_RETURN_IF_ERROR(environment_.models.Add(model));
    }
    TRIVIUM_ASSIGN_OR_RETURN(const HostPort address,
                             ParseHostPort(options_.listen));
    Relay::Options relay;
    relay.host = address.host;
    relay.port = address.port;
    relay.max_connections = options_.max_connections;
    relay.max_streams = options_.max_streams;
    TRIVIUM_ASSIGN_OR_RETURN(grpc_, GrpcServer::Create(relay, environment_));
    TRIVIUM_RETURN_IF_ERROR(ListenForMetrics());
    SetServing(true);
    return absl::OkStatus();
  }

  int port() const override { return grpc_->port(); }
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
                           [this] { return serving_ && grpc_->answering(); }));
    return absl::OkStatus();
  }

  void SetServing(bool serving) {
    serving_ = serving;
    grpc_->SetServing(serving);
  }

  // Calls are refused by ourselves and not by closing the port: watches of
  // health and reflection have no end of their own and would hold it up.
  bool Stop(absl::Duration timeout) {
    if (stopped_ || grpc_ == nullptr) return true;
    stopped_ = true;
    const bool finished = calls_.Drain(timeout);
    parts_.batcher->Drain(absl::ZeroDuration());
    // Cancels what is left; every call ends now that the batcher has spoken.
    grpc_->Stop();
    calls_.Drain(absl::InfiniteDuration());
    return finished;
  }

  const Options options_;
  // Destroyed last to first: the pools finish what the batcher said while
  // what all calls work with is there.
  Parts parts_;
  Environment environment_;
  CallRegistry calls_;
  std::unique_ptr<GrpcServer> grpc_;
  WorkPool tokenizing_;
  WorkPool delivery_;
  std::unique_ptr<HttpServer> http_;
  std::atomic<bool> serving_{false};
  bool stopped_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Create(const Options& options,
                                                       Parts parts) {
  auto server = std::make_unique<ServerImpl>(options, std::move(parts));
  TRIVIUM_RETURN_IF_ERROR(server->Listen());
  return server;
}

}  // namespace trivium
