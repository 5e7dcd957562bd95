// To start: models, manager, gRPC, HTTP, the page of metrics. Only then is the
// server ready.
//
// To stop, Drain reports that it is not ready, waits for drain_delay, and
// refuses new connections. Then, in Stop, with which the destructor begins:
//   1. the manager takes no more orders
//   2. new calls are refused, and those under way have until the timeout
//   3. the batcher answers what is left
//   4. gRPC ends, then HTTP, then the last handler
// The page of metrics answers until the destructor, so a drain can be watched.
//
// Always: environment_ is complete before a port opens. Later only its models
// change.
#include "server/server.h"

#include <fmt/format.h>

#include <atomic>
#include <initializer_list>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/time/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "server/calls/document_jobs.h"
#include "server/host_port.h"
#include "server/observability/log.h"
#include "server/options.h"
#include "server/stop_watchdog.h"
#include "server/transports/grpc/grpc_server.h"
#include "server/transports/http/http_api.h"
#include "server/transports/http/metrics_server.h"
#include "server/transports/net/listener_probe.h"

namespace trivium {
namespace {

constexpr int kPoolThreads = 2;

absl::Status NoThreads() {
  return absl::ResourceExhaustedError(
      "the system cannot start more threads (see ulimit -u and the cgroup's "
      "pids.max)");
}

// Returns the advice for a client that sends HTTP/1 to gRPC's port.
std::string Http1Advice(const std::string& http_listen) {
  if (http_listen.empty()) return "this server answers no HTTP/1";
  // Any port that was free.
  if (http_listen.ends_with(":0")) {
    return "HTTP/1 is answered at the http_port of the server's log";
  }
  return fmt::format("HTTP/1 is answered at {}", http_listen);
}

class ServerImpl : public Server {
 public:
  ServerImpl(const Options& options, Parts parts)
      : options_(options),
        parts_(std::move(parts)),
        calls_(options.clock),
        ignored_members_(options.http_strict),
        kept_files_({}, options.clock),
        glossaries_({}, options.clock),
        overload_(OverloadManager::ForThisProcess(options.memory_bytes),
                  parts_.metrics.get()),
        document_jobs_({}, &overload_, options.clock),
        tokenizing_(kPoolThreads),
        delivery_(kPoolThreads) {
    environment_.models.SetNames(options.model_names);
    environment_.limits = options.limits;
    environment_.truncate = options.truncate;
    environment_.pivot_language = options.pivot_language;
    environment_.max_waiting_tokens = options.max_waiting_tokens;
    environment_.max_connections = options.max_connections;
    environment_.batcher = parts_.batcher.get();
    environment_.metrics = parts_.metrics.get();
    environment_.access = parts_.access.get();
    environment_.open_health = options.open_health;
    environment_.audit = parts_.audit.get();
    environment_.tracer = parts_.tracer.get();
    if (options.load_reports != LoadReporting::kOff) {
      loads_.emplace(options.load_reports == LoadReporting::kAll,
                     parts_.metrics.get());
      environment_.loads = &*loads_;
    }
    environment_.calls = &calls_;
    environment_.refusals = &refusals_;
    environment_.ignored_members = &ignored_members_;
    environment_.kept_files = &kept_files_;
    environment_.glossaries = &glossaries_;
    environment_.document_jobs = &document_jobs_;
    environment_.tokenizing = &tokenizing_;
    environment_.delivery = &delivery_;
    environment_.clock = options.clock;
  }

  ~ServerImpl() override {
    parts_.batcher->ListenForStalls(nullptr);
    Stop(absl::ZeroDuration());
    parts_.manager.reset();  // it uses the environment
  }

  absl::Status Listen() {
    if (tokenizing_.threads() == 0 || delivery_.threads() == 0) {
      return NoThreads();
    }
    for (const ModelHandle& model : parts_.models) {
      TRIVIUM_RETURN_IF_ERROR(environment_.models.Add(model));
    }
    parts_.models.clear();
    if (parts_.manager != nullptr) {
      TRIVIUM_RETURN_IF_ERROR(parts_.manager->Start(&environment_.models));
      if (parts_.manager->takes_orders()) {
        environment_.model_control = parts_.manager.get();
      }
    }
    TRIVIUM_ASSIGN_OR_RETURN(const HostPort address,
                             ParseHostPort(options_.listen));
    GrpcServer::Options grpc;
    grpc.host = address.host;
    grpc.port = address.port;
    grpc.max_connections = options_.max_connections;
    grpc.max_streams = options_.max_streams;
    grpc.max_connection_age = options_.max_connection_age;
    grpc.age_grace = options_.drain_timeout;
    grpc.tls = parts_.tls.get();
    grpc.http1_advice = Http1Advice(options_.http_listen);
    TRIVIUM_ASSIGN_OR_RETURN(
        grpc_, GrpcServer::Create(grpc, environment_, &overload_));
    TRIVIUM_RETURN_IF_ERROR(ListenForHttp());
    TellLimits();
    TRIVIUM_RETURN_IF_ERROR(ListenForMetrics());
    parts_.batcher->ListenForStalls(
        [this](const StepStall& stall) { OnStall(stall); });
    SetServing(true);
    return absl::OkStatus();
  }

  int port() const override { return grpc_->port(); }
  int http_port() const override {
    return http_ == nullptr ? 0 : http_->port();
  }
  int metrics_port() const override {
    return metrics_ == nullptr ? 0 : metrics_->port();
  }

  bool Drain() override {
    SetServing(false);
    SetStopStage("waiting for --drain-delay");
    absl::SleepFor(options_.drain_delay);
    SetStopStage("closing the ports to new clients");
    if (grpc_ != nullptr) grpc_->GoAway();
    if (http_ != nullptr) {
      http_probe_->Stop();
      http_->GoAway();
    }
    return Stop(options_.drain_timeout);
  }

 private:
  absl::Status ListenForHttp() {
    if (options_.http_listen.empty()) return absl::OkStatus();
    TRIVIUM_ASSIGN_OR_RETURN(const HostPort address,
                             ParseHostPort(options_.http_listen));
    HttpApi::Options http;
    http.host = address.host;
    http.port = address.port;
    http.max_connections = options_.max_connections;
    http.stall_timeout = options_.limits.stall_timeout;
    http.max_age = options_.max_connection_age;
    http.tls = parts_.tls.get();
    http.allowed_hosts = options_.allowed_hosts;
    http.cors_origins = options_.cors_origins;
    http.page = options_.page;
    http.metrics = options_.http_metrics;
    http.keep_alive = options_.sse_keep_alive;
    absl::StatusOr<std::unique_ptr<HttpApi>> created =
        HttpApi::Create(http, environment_, &overload_);
    if (absl::IsUnavailable(created.status()) && options_.http_if_free) {
      Log(spdlog::level::warn,
          "HTTP is off: another program has its port; give --http-listen",
          {{"http_listen", options_.http_listen}});
      return absl::OkStatus();
    }
    TRIVIUM_RETURN_IF_ERROR(created.status());
    http_ = *std::move(created);
    http_probe_ = std::make_unique<ListenerProbe>(kProbeHttp1, http_->address(),
                                                  parts_.tls.get());
    return absl::OkStatus();
  }

  absl::Status ListenForMetrics() {
    if (options_.metrics_listen.empty()) return absl::OkStatus();
    TRIVIUM_ASSIGN_OR_RETURN(const HostPort address,
                             ParseHostPort(options_.metrics_listen));
    MetricsServer::Options metrics;
    metrics.host = address.host;
    metrics.port = address.port;
    if (options_.metrics_tls) metrics.tls = parts_.tls.get();
    TRIVIUM_ASSIGN_OR_RETURN(
        metrics_, MetricsServer::Create(metrics, parts_.metrics.get(), [this] {
          return ready_ && Answers();
        }));
    return absl::OkStatus();
  }

  // True if every port of the API answers new clients.
  bool Answers() const {
    return grpc_->answering() && (http_ == nullptr || http_probe_->answering());
  }

  void TellLimits() {
    const RequestLimits& limits = options_.limits;
    const std::pair<const char*, int64_t> all[] = {
        {"max-waiting-tokens", options_.max_waiting_tokens},
        {"max-connections", options_.max_connections},
        {"max-streams", options_.max_streams},
        {"max-request-bytes", limits.max_request_bytes},
        {"max-response-bytes", limits.max_response_bytes},
        {"max-text-bytes", limits.max_text_bytes},
        {"max-inputs", limits.max_inputs}};
    for (const auto& [name, value] : all) {
      parts_.metrics->SetLimit(name, value);
    }
  }

  void OnStall(const StepStall& stall) {
    const std::initializer_list<LogField> fields = {
        {"model", stall.model.name},
        {"worker", int64_t{stall.worker}},
        {"seconds", absl::ToDoubleSeconds(stall.lasted)}};
    if (stall.returned) {
      Log(spdlog::level::warn, "a step of the engine has returned after all",
          fields);
    } else {
      Log(spdlog::level::err,
          "a step of the engine does not return; its calls are answered "
          "UNAVAILABLE, and the server is not ready until it does",
          fields);
    }
    MutexLock lock(&serving_mutex_);
    TellServing();
  }

  void SetServing(bool serving) {
    MutexLock lock(&serving_mutex_);
    serving_ = serving;
    TellServing();
  }

  void TellServing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(serving_mutex_) {
    ready_ = serving_ && parts_.batcher->stalled_steps() == 0;
    calls_.SetReady(ready_);
    grpc_->SetServing(ready_);
  }

  // Refuses calls itself instead of closing the port first: closing waits for
  // watches of health and for reflection, which do not end by themselves.
  bool Stop(absl::Duration timeout) {
    if (stopped_ || grpc_ == nullptr) return true;
    stopped_ = true;
    SetStopStage("refusing orders");
    if (parts_.manager != nullptr) parts_.manager->Stop();
    // Once calls are refused, nobody can fetch a document.
    calls_.Drain(absl::ZeroDuration());
    document_jobs_.CancelAll();
    SetStopStage("waiting for calls");
    const bool finished = calls_.Drain(timeout);
    SetStopStage("cancelling requests");
    parts_.batcher->Drain(absl::ZeroDuration());
    SetStopStage("ending gRPC");
    // Cancels the remaining calls; the batcher has answered, so all end now.
    grpc_->Stop();
    SetStopStage("ending HTTP");
    if (http_ != nullptr) {
      // Null if its thread could not be started.
      if (http_probe_ != nullptr) http_probe_->Stop();
      http_->Stop();
    }
    SetStopStage("waiting for the last handlers");
    calls_.Drain(absl::InfiniteDuration());
    SetStopStage("freeing models");
    return finished;
  }

  const Options options_;
  // Destroyed last to first: the pools deliver the batcher's last answers while
  // the parts that calls use still exist.
  Parts parts_;
  Environment environment_;
  std::optional<LoadReports> loads_;
  RefusalLog refusals_;
  CallRegistry calls_;
  IgnoredMembers ignored_members_;
  KeptFiles kept_files_;
  GlossaryStore glossaries_;
  OverloadManager overload_;
  DocumentJobs document_jobs_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<HttpApi> http_;
  std::unique_ptr<ListenerProbe> http_probe_;
  WorkPool tokenizing_;
  WorkPool delivery_;
  std::unique_ptr<MetricsServer> metrics_;
  Mutex serving_mutex_;
  // False before all ports listen, and from the beginning of a drain.
  bool serving_ ABSL_GUARDED_BY(serving_mutex_) = false;
  std::atomic<bool> ready_{false};  // serving_, and no step is stalled
  bool stopped_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Create(const Options& options,
                                                       Parts parts) {
  try {
    auto server = std::make_unique<ServerImpl>(options, std::move(parts));
    TRIVIUM_RETURN_IF_ERROR(server->Listen());
    return server;
  } catch (const std::system_error&) {  // thrown by std::thread
    return NoThreads();
  }
}

}  // namespace trivium
