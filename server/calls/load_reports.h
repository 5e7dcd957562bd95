#ifndef TRIVIUM_SERVER_CALLS_LOAD_REPORTS_H_
#define TRIVIUM_SERVER_CALLS_LOAD_REPORTS_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/repeating_thread.h"
#include "server/observability/metrics.h"
#include "xds/orca_load_report.pb.h"

namespace trivium {

// Says which answers carry a report of the load.
enum class LoadReporting { kOff, kAsked, kAll };

// The metadata key by which clients and proxies ask for a report: over HTTP its
// value is text, json or bin; over gRPC any value will do.
inline constexpr char kLoadFormatKey[] = "endpoint-load-metrics-format";

// Reports the server's load beside its answers, for balancers that weigh
// servers by it (ORCA: gRPC's weighted_round_robin, Envoy's
// client_side_weighted_round_robin, inference gateways). The load is measured
// once every kInterval, so that it costs an answer next to nothing.
// Thread-safe.
class LoadReports {
 public:
  static constexpr absl::Duration kInterval = absl::Seconds(1);

  // The counters and gauges of the process at one time.
  struct Sample {
    absl::Time time;
    absl::Duration cpu;  // of all threads, since the process began
    Metrics::Load load;
  };

  // `all`: every answer has a report, else only those of calls that ask for it.
  // Starts a thread that measures. `metrics` outlives this.
  LoadReports(bool all, Metrics* metrics);
  // For tests, which measure themselves.
  LoadReports(bool all, int cores, const Sample& first);

  // The [name, value] of a trailer or header for an answer; nothing if its call
  // did not ask. `asked` is the value of its kLoadFormatKey, or empty.
  std::optional<std::pair<std::string, std::string>> ForGrpc(
      std::string_view asked) const;
  std::optional<std::pair<std::string, std::string>> ForHttp(
      std::string_view asked) const;

  // Reports the load between the last sample and this one from now on.
  void Record(const Sample& sample);

 private:
  struct Texts {
    std::string bin, base64, json, text;
  };

  const bool all_;
  const int cores_;
  mutable Mutex mutex_;
  Sample last_ ABSL_GUARDED_BY(mutex_);
  Texts texts_ ABSL_GUARDED_BY(mutex_);
  std::optional<RepeatingThread> measuring_;  // last, so that it ends first
};

// The report of the load between two samples.
xds::OrcaLoadReport ReportLoad(const LoadReports::Sample& from,
                               const LoadReports::Sample& to, int cores);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_LOAD_REPORTS_H_
