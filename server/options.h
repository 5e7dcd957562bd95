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
#include "server/model_spec.h"
#include "server/observability/log.h"
#include "server/tracing/span_exporter.h"
#include "server/transports/net/credentials.h"

namespace trivium {

// Exit code of a command line that makes no sense.
inline constexpr int kExitUsage = 2;

// What the command line and the environment say; --help documents each.
struct Options {
  std::string listen = "127.0.0.1:50051";
  int max_connections = 4096;
  int max_streams = 1024;  // of a connection
  // After so long a connection is told to go; zero: never.
  absl::Duration max_connection_age = absl::ZeroDuration();
  std::string http_listen;                        // empty: none
  std::string metrics_listen = "127.0.0.1:9464";  // empty: none
  LoadReporting load_reports = LoadReporting::kOff;
  std::string port_file;

  TlsCredentials::Files tls;  // without a certificate: no TLS
  bool metrics_tls = false;
  std::string tokens_file;  // empty: anybody may call
  bool open_health = true;  // to those without a token, too
  std::string audit_log;    // empty: none

  std::optional<TraceEndpoint> trace_endpoint;  // unset: no traces
  std::string trace_ca;  // of an endpoint of https; empty: the system's
  std::optional<double> trace_sample_rate;  // unset: 1

  std::vector<ModelSpec> models;  // empty: the embedded one
  // Below it are the models that may be loaded while others are served; empty:
  // none may.
  std::string model_root;
  // How often is looked for models that came, changed or went there; zero:
  // never.
  absl::Duration watch_interval = absl::ZeroDuration();
  Precision precision = Precision::kAuto;
  Precision kv_precision = Precision::kAuto;  // of models with a decoder
  bool vocabulary_shortlist = false;
  std::optional<Isa> max_isa;

  std::optional<int> workers;         // unset: see ChooseWorkers
  std::optional<int> worker_threads;  // of each, likewise
  // Of each worker, for each model; unset: see ChooseKvCacheBytes.
  std::optional<int64_t> kv_cache_bytes;
  std::optional<int64_t> prefix_cache_bytes;  // of these; unset: all
  bool speculation = true;
  int64_t max_waiting_tokens = 1 << 20;
  absl::Duration max_queue_wait = absl::ZeroDuration();  // zero: any
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
  // --plan: tell what the models would take and give, and exit; as JSON?
  bool plan = false;
  bool json = false;
};

// Reads the command line; a flag wins over its twin TRIVIUM_* in the
// environment. When there is nothing to start (--help, --version, an error
// that has been written to standard error), `exit_code` is set.
Options ParseOptions(int argc, const char* const* argv,
                     std::optional<int>* exit_code);

// The variables of the environment that ParseOptions reads.
std::vector<std::string> OptionVariables();

// "x-api-key"; lower case, as metadata is.
absl::StatusOr<std::string> ParseMetadataKey(const std::string& text);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OPTIONS_H_
