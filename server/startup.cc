// StartServer finds cheap errors first and opens ports last:
//   1. contradictions of options, then the files of certificates and tokens
//   2. the cap on the instruction set, which must precede all kernels
//   3. all models, since their sizes decide on workers and KV caches
//   4. workers, then metrics, which have series for each of them
//   5. the batcher, and the engines of each model
//   6. ports (Server::Create), so that the first client finds the models
// Before all of them, CheckPorts says whether step 6 would find its ports free.
//
// --prefix-cache-bytes is checked twice: at once against a given
// --kv-cache-bytes, and in step 4 against a chosen one. The embedded model is
// served only if there is neither --model nor a folder to watch.
#include "server/startup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/cpu_limits.h"
#include "base/isa.h"
#include "base/socket.h"
#include "base/status.h"
#include "base/thread.h"
#include "model/chat_template.h"
#include "model/kernels/runtime.h"
#include "server/batching/workers.h"
#include "server/host_port.h"
#include "server/model_folders.h"
#include "server/model_manager.h"
#include "server/observability/log.h"

namespace trivium {
namespace {

constexpr char kEmbeddedName[] = "embedded";
// Estimate of the other threads: those of gRPC, pools, watches.
constexpr int kOtherThreads = 32;

// Reports missing threads as an error now; later they would abort the process.
absl::Status CheckWorkerThreads(const Workers& workers, int models) {
  // A worker has its own thread, and a team for each model's engine.
  const int64_t threads =
      workers.count * (1 + int64_t{models} * (workers.threads - 1));
  const absl::Status status = CheckThreads(
      static_cast<int>(std::min<int64_t>(threads + kOtherThreads, 1 << 20)));
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      fmt::format("--workers {} x --worker-threads {}: {}", workers.count,
                  workers.threads, std::string(status.message())));
}

absl::Status CheckPrefixCache(const Options& options, int64_t kv_cache_bytes) {
  const int64_t bytes = options.prefix_cache_bytes.value_or(0);
  if (bytes <= kv_cache_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "--prefix-cache-bytes {} is more than --kv-cache-bytes {}, although it "
      "is a part of it: raise that too, or give auto",
      bytes, kv_cache_bytes));
}

absl::Status CheckModelRoot(const Options& options) {
  std::error_code error;
  if (options.model_root.empty()) {
    if (options.watch_interval == absl::ZeroDuration()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "--watch-interval needs --model-root, the folder to watch");
  }
  if (std::filesystem::is_directory(options.model_root, error)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("--model-root {} is not a folder", options.model_root));
}

absl::Status CheckWeightsCache(const Options& options) {
  std::error_code error;
  if (!std::filesystem::exists(options.weights_cache, error) ||
      std::filesystem::is_directory(options.weights_cache, error)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("--weights-cache {} is not a folder; name one, which need "
                  "not exist yet",
                  options.weights_cache));
}

absl::Status CheckHttp(const Options& options) {
  if (!options.http_listen.empty()) return absl::OkStatus();
  if (!options.cors_origins.empty()) {
    return absl::InvalidArgumentError(
        "--cors-allow-origin needs --http-listen, which pages call");
  }
  if (options.http_metrics) {
    return absl::InvalidArgumentError(
        "--http-metrics needs --http-listen, whose port it is about");
  }
  return absl::OkStatus();
}

absl::Status CheckSecurity(const Options& options) {
  const TlsCredentials::Files& tls = options.tls;
  if (!options.tokens_file.empty() &&
      !options.limits.client_key_header.empty()) {
    return absl::InvalidArgumentError(
        "--client-key-header cannot be used with --tokens-file, which "
        "distinguishes clients by the names of their tokens: leave it out");
  }
  if (options.tokens_file.empty() && !options.open_health) {
    return absl::InvalidArgumentError(
        "--health token needs --tokens-file, which has the tokens");
  }
  if (tls.certificate.empty() != tls.key.empty()) {
    return absl::InvalidArgumentError(
        "--tls-certificate and --tls-key must be given together");
  }
  if (!tls.certificate.empty()) return absl::OkStatus();
  if (!tls.client_ca.empty() || options.metrics_tls) {
    return absl::InvalidArgumentError(
        fmt::format("{} needs --tls-certificate and --tls-key",
                    options.metrics_tls ? "--metrics-tls" : "--tls-client-ca"));
  }
  return absl::OkStatus();
}

// Called before models are loaded, which may take minutes.
absl::Status OpenSecurityFiles(const Options& options, Server::Parts* parts) {
  // Each of the parts below has a thread.
  TRIVIUM_RETURN_IF_ERROR(CheckThreads(kOtherThreads));
  if (!options.tls.certificate.empty()) {
    TRIVIUM_ASSIGN_OR_RETURN(parts->tls, TlsCredentials::Load(options.tls));
  }
  if (!options.trace_ca.empty()) {
    TRIVIUM_RETURN_IF_ERROR(CheckCertificates(options.trace_ca));
  }
  if (!options.tokens_file.empty()) {
    TRIVIUM_ASSIGN_OR_RETURN(parts->access, Access::Load(options.tokens_file));
  }
  if (!options.audit_log.empty()) {
    TRIVIUM_ASSIGN_OR_RETURN(parts->audit, AuditLog::Open(options.audit_log));
  }
  return absl::OkStatus();
}

absl::Status CheckTraces(const Options& options) {
  if (!options.trace_ca.empty() &&
      !(options.trace_endpoint &&
        options.trace_endpoint->origin.starts_with("https://"))) {
    return absl::InvalidArgumentError(
        "--trace-ca needs an https --trace-endpoint, whose certificate it "
        "checks");
  }
  if (options.trace_endpoint || !options.trace_sample_rate) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "--trace-sample-rate needs --trace-endpoint, to which traces are sent");
}

// Only models that are there at the start have aliases.
absl::Status CheckAliases(const ModelNames& names,
                          const std::vector<ModelSpec>& specs) {
  std::vector<std::string> models;
  for (const ModelSpec& spec : specs) models.push_back(spec.name);
  const auto is_model = [&models](const std::string& name) {
    return std::find(models.begin(), models.end(), name) != models.end();
  };
  for (const auto& [name, model] : names.aliases) {
    if (is_model(name)) {
      return absl::InvalidArgumentError(fmt::format(
          "--model-alias {0}={1}: a model is named '{0}' already; choose "
          "another name",
          name, model));
    }
    if (!is_model(model)) {
      return absl::InvalidArgumentError(
          fmt::format("--model-alias {}={}: no model is named '{}'; there are: "
                      "{}",
                      name, model, model, fmt::join(models, ", ")));
    }
  }
  return absl::OkStatus();
}

void WarnOfOpenPort(const std::string& listen, bool with_tokens) {
  const absl::StatusOr<HostPort> address = ParseHostPort(listen);
  if (!address.ok()) return;
  const std::string& host = address->host;
  if (IsUnixAddress(host) || host.rfind("127.", 0) == 0 ||
      host == "localhost" || host == "::1") {
    return;
  }
  Log(spdlog::level::warn,
      with_tokens ? "serving without TLS: texts and tokens are readable on the "
                    "network; keep this port on a trusted network"
                  : "serving without TLS or tokens: any client that reaches "
                    "this address can call; keep it on a trusted network",
      {{"listen", listen}});
}

}  // namespace

absl::Status CheckOptions(const Options& options) {
  // An auto value is checked when the models are known.
  if (options.kv_cache_bytes) {
    TRIVIUM_RETURN_IF_ERROR(CheckPrefixCache(options, *options.kv_cache_bytes));
  }
  TRIVIUM_RETURN_IF_ERROR(CheckModelRoot(options));
  TRIVIUM_RETURN_IF_ERROR(CheckWeightsCache(options));
  TRIVIUM_RETURN_IF_ERROR(CheckHttp(options));
  TRIVIUM_RETURN_IF_ERROR(CheckSecurity(options));
  TRIVIUM_RETURN_IF_ERROR(CheckTraces(options));
  return DetectIsa().status();
}

absl::StatusOr<Workers> WorkersFor(const Options& options,
                                   const ModelSizes& sizes) {
  TRIVIUM_ASSIGN_OR_RETURN(
      Workers workers, ChooseWorkers(options.workers, options.worker_threads,
                                     UsableCores(), sizes.weight_bytes));
  workers.kv_cache_bytes = ChooseKvCacheBytes(
      options.kv_cache_bytes, workers.count, sizes,
      options.memory_limit_bytes > 0 ? options.memory_limit_bytes
                                     : UsableMemory());
  TRIVIUM_RETURN_IF_ERROR(CheckPrefixCache(options, workers.kv_cache_bytes));
  return workers;
}

absl::StatusOr<std::vector<ModelSpec>> ModelsToServe(const Options& options) {
  if (options.models.empty() && options.watch_interval > absl::ZeroDuration()) {
    return ListModelFolders(options.model_root);
  }
  if (options.models.empty()) {
    TRIVIUM_ASSIGN_OR_RETURN(std::string folder, EmbeddedModelFolder());
    return std::vector<ModelSpec>{{kEmbeddedName, folder, std::nullopt}};
  }
  std::set<std::string> names;
  for (const ModelSpec& spec : options.models) {
    if (!names.insert(spec.name).second) {
      return absl::InvalidArgumentError(fmt::format(
          "--model: two models are named '{}'; give each its own name",
          spec.name));
    }
  }
  return options.models;
}

absl::StatusOr<std::string> EmbeddedModelFolder() {
  namespace fs = std::filesystem;
  if (const char* folder = std::getenv("TRIVIUM_EMBEDDED_MODEL")) {
    return std::string(folder);
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed =
      program.parent_path().parent_path() / "share/trivium/embedded";
  for (const fs::path& folder : {installed, fs::path(TRIVIUM_EMBEDDED_DIR)}) {
    if (fs::exists(folder / "config.json", error)) return folder.string();
  }
  return absl::NotFoundError(fmt::format(
      "no --model is given, and there is no embedded model in {} or {}; give "
      "--model NAME=FOLDER, or the embedded model's folder in "
      "TRIVIUM_EMBEDDED_MODEL",
      installed.string(), TRIVIUM_EMBEDDED_DIR));
}

absl::Status CheckPorts(const Options& options) {
  struct Port {
    const char* flag;
    std::string address;
  };
  // A port for HTTP that nobody named may be another program's.
  const std::string http = options.http_given ? options.http_listen : "";
  std::vector<std::vector<UniqueFd>> held;
  for (const Port& port :
       {Port{"--listen", options.listen}, Port{"--http-listen", http},
        Port{"--metrics-listen", options.metrics_listen}}) {
    if (port.address.empty() || IsUnixAddress(port.address)) continue;
    TRIVIUM_ASSIGN_OR_RETURN(const HostPort at, ParseHostPort(port.address));
    if (at.port == 0) continue;
    absl::StatusOr<std::vector<UniqueFd>> sockets = Listen(at.host, at.port);
    if (!sockets.ok()) {
      return absl::UnavailableError(fmt::format(
          "cannot listen on {}: {}; choose another address or port with {}",
          port.address, std::string(sockets.status().message()), port.flag));
    }
    held.push_back(*std::move(sockets));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Server>> StartServer(const Options& options) {
  TRIVIUM_RETURN_IF_ERROR(CheckOptions(options));
  Server::Parts parts;
  TRIVIUM_RETURN_IF_ERROR(OpenSecurityFiles(options, &parts));
  if (options.max_isa) TRIVIUM_RETURN_IF_ERROR(CapIsa(*options.max_isa));
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<ModelSpec> specs,
                           ModelsToServe(options));
  TRIVIUM_RETURN_IF_ERROR(CheckAliases(options.model_names, specs));
  std::vector<std::unique_ptr<Model>> models;
  ModelSizes sizes;
  for (const ModelSpec& spec : specs) {
    TRIVIUM_ASSIGN_OR_RETURN(models.emplace_back(), LoadModel(spec, options));
    const ModelInfo& info = models.back()->info();
    sizes.Add(info.weight_bytes, info.longest_kv_bytes);
  }
  TRIVIUM_ASSIGN_OR_RETURN(const Workers workers, WorkersFor(options, sizes));
  TRIVIUM_RETURN_IF_ERROR(CheckWorkerThreads(
      workers, static_cast<int>(std::min<size_t>(specs.size(), 1024))));
  Log(spdlog::level::info, "workers",
      {{"workers", int64_t{workers.count}},
       {"worker_threads", int64_t{workers.threads}},
       {"kv_cache_bytes", workers.kv_cache_bytes},
       {"kv_cache_bytes_in_all", workers.kv_cache_bytes * workers.count *
                                     static_cast<int64_t>(specs.size())}});

  parts.metrics = std::make_unique<Metrics>(workers.count);
  Batcher::Options batching;
  batching.workers = workers.count;
  batching.max_waiting_tokens = options.max_waiting_tokens;
  if (options.max_queue_wait > absl::ZeroDuration()) {
    batching.max_queue_wait = options.max_queue_wait;
  }
  if (options.step_timeout > absl::ZeroDuration()) {
    batching.step_timeout = options.step_timeout;
  }
  batching.result_cache_bytes = options.result_cache_bytes;
  batching.speculate = options.speculation;
  batching.observer = parts.metrics.get();
  if (options.trace_endpoint) {
    TRIVIUM_ASSIGN_OR_RETURN(
        std::unique_ptr<SpanExporter> exporter,
        SpanExporter::Create(
            {.endpoint = *options.trace_endpoint, .ca = options.trace_ca},
            parts.metrics.get()));
    parts.tracer = std::make_unique<Tracer>(
        std::move(exporter), options.trace_sample_rate.value_or(1));
  }
  TRIVIUM_ASSIGN_OR_RETURN(parts.batcher, Batcher::Create(batching));
  parts.manager = std::make_unique<ModelManager>(
      options, workers, parts.metrics.get(), parts.batcher.get());
  for (size_t m = 0; m < models.size(); ++m) {
    TRIVIUM_ASSIGN_OR_RETURN(
        parts.models.emplace_back(),
        parts.manager->Serve(specs[m], std::move(models[m])));
  }

  Server::Options server;
  server.listen = options.listen;
  server.max_connections = options.max_connections;
  server.max_streams = options.max_streams;
  if (options.max_connection_age > absl::ZeroDuration()) {
    server.max_connection_age = options.max_connection_age;
  }
  server.open_health = options.open_health;
  server.http_listen = options.http_listen;
  server.http_if_free = !options.http_given;
  server.allowed_hosts = options.allowed_hosts;
  server.cors_origins = options.cors_origins;
  server.page = !options.no_page;
  server.http_metrics = options.http_metrics;
  server.http_strict = options.http_strict;
  if (options.sse_keep_alive > absl::ZeroDuration()) {
    server.sse_keep_alive = options.sse_keep_alive;
  }
  server.metrics_listen = options.metrics_listen;
  server.limits = options.limits;
  server.truncate = options.truncate;
  server.model_names = options.model_names;
  server.pivot_language = options.pivot_language;
  server.max_waiting_tokens = options.max_waiting_tokens;
  server.memory_bytes = options.memory_limit_bytes;
  server.drain_delay = options.drain_delay;
  server.drain_timeout = options.drain_timeout;
  server.metrics_tls = options.metrics_tls;
  server.load_reports = options.load_reports;
  if (options.tls.certificate.empty()) {
    const bool with_tokens = !options.tokens_file.empty();
    WarnOfOpenPort(options.listen, with_tokens);
    if (!options.http_listen.empty()) {
      WarnOfOpenPort(options.http_listen, with_tokens);
    }
  }
  return Server::Create(server, std::move(parts));
}

}  // namespace trivium
