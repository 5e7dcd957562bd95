#ifndef TRIVIUM_SERVER_OPTIONS_H_
#define TRIVIUM_SERVER_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/isa.h"
#include "model/model.h"
#include "server/calls/environment.h"
#include "server/calls/model_directory.h"
#include "server/model_spec.h"
#include "server/observability/log.h"
#include "server/tracing/span_exporter.h"
#include "server/transports/net/credentials.h"

namespace trivium {

// Exit code for an invalid command line.
inline constexpr int kExitUsage = 2;

// The settings of the command line and the environment; --help documents each.
struct Options {
  std::string listen = "127.0.0.1:50051";
  int max_connections = 4096;
  int max_streams = 1024;  // calls at a time on one connection
  // Age at which a connection is told to close; zero: never.
  absl::Duration max_connection_age = absl::ZeroDuration();
  std::string http_listen = "127.0.0.1:8080";  // empty: none
  bool http_given = false;                     // not the default
  std::vector<std::string> allowed_hosts;      // HttpApi::Options
  std::vector<std::string> cors_origins;       // HttpApi::Options
  bool no_page = false;                        // HttpApi::Options::page
  bool http_metrics = false;                   // HttpApi::Options::metrics
  bool http_strict = false;                    // IgnoredMembers
  // Time without a word after which a stream of events gets a comment; zero:
  // never.
  absl::Duration sse_keep_alive = absl::ZeroDuration();
  std::string metrics_listen = "127.0.0.1:9464";  // empty: none
  LoadReporting load_reports = LoadReporting::kOff;
  std::string port_file;

  TlsCredentials::Files tls;  // without a certificate: no TLS
  bool metrics_tls = false;
  std::string tokens_file;  // empty: calls need no token
  bool open_health = true;  // gRPC's health needs no token
  std::string audit_log;    // empty: none

  std::optional<TraceEndpoint> trace_endpoint;  // unset: no traces
  std::string trace_ca;  // for an https endpoint; empty: the system's
  std::optional<double> trace_sample_rate;  // unset: 1

  // Empty: those of model_root if it is watched, else the embedded model.
  std::vector<ModelSpec> models;
  // Folder of the models that may be loaded while the server runs; empty: none.
  std::string model_root;
  // Time between two looks for new, changed and removed models there; zero:
  // never.
  absl::Duration watch_interval = absl::ZeroDuration();
  // Owners whose models LoadModel may fetch from the hub, "*" for all; empty:
  // none is fetched while the server runs.
  std::vector<std::string> pull_owners;
  int64_t pull_bytes = int64_t{16} << 30;  // of the files of such a model
  ModelNames model_names;  // aliases, and whether any name is good
  Precision precision = Precision::kAuto;
  Precision kv_precision = Precision::kAuto;  // of models with a decoder
  bool vocabulary_shortlist = false;
  std::string weights_cache;  // folder of packed weights; empty: none
  // The prompt with which decoders translate (LoadOptions).
  std::string_view translate_with = "auto";
  std::optional<Isa> max_isa;

  std::optional<int> workers;         // unset: see ChooseWorkers
  std::optional<int> worker_threads;  // of each worker; unset: likewise
  // Bytes of each worker for each model; unset: see ChooseKvCacheBytes.
  std::optional<int64_t> kv_cache_bytes;
  std::optional<int64_t> prefix_cache_bytes;  // part of these; unset: all
  bool speculation = true;
  int64_t max_waiting_tokens = 1 << 20;
  absl::Duration max_queue_wait = absl::ZeroDuration();  // zero: unbounded
  // Zero: unbounded. A minute is far more than a step takes that swaps, and
  // less than clients wait.
  absl::Duration step_timeout = absl::Seconds(60);
  int64_t result_cache_bytes = 0;  // of all models; 0: none

  int64_t memory_limit_bytes = 0;  // 0: the cgroup's, else the machine's

  RequestLimits limits;
  bool truncate = false;
  std::string pivot_language;  // BCP 47; empty: none

  absl::Duration drain_delay = absl::ZeroDuration();
  absl::Duration drain_timeout = absl::Seconds(30);

  std::string log_level = "info";
  LogFormat log_format = LogFormat::kText;

  bool hash_token = false;   // --hash-token: print a token's entry and exit
  std::string check_folder;  // --check: list the folder's problems and exit
  bool plan = false;         // --plan: print the Plan of the models and exit
  bool json = false;         // print it as JSON
};

// Reads the command line; a flag overrides its variable TRIVIUM_* in the
// environment. Sets `exit_code` if there is nothing to start: for --help,
// --version, or after an error was written to standard error.
Options ParseOptions(int argc, const char* const* argv,
                     std::optional<int>* exit_code);

// The environment variables that ParseOptions reads.
std::vector<std::string> OptionVariables();

// Checks a metadata key such as "x-api-key", and returns it in lower case.
absl::StatusOr<std::string> ParseMetadataKey(const std::string& text);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OPTIONS_H_
