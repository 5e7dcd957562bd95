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

// With which answers load is reported.
enum class LoadReporting { kOff, kAsked, kAll };

// What clients and proxies ask with, for text, json or bin; of gRPC any value
// will do.
inline constexpr char kLoadFormatKey[] = "endpoint-load-metrics-format";

// The server's load, beside its answers, for balancers that weigh servers by it
// (ORCA: gRPC's weighted_round_robin, Envoy's client_side_weighted_round_robin,
// gateways of inference). Measured once every kInterval, so that it costs an
// answer next to nothing. Thread-safe.
class LoadReports {
 public:
  static constexpr absl::Duration kInterval = absl::Seconds(1);

  // What the process has done and what it has.
  struct Sample {
    absl::Time time;
    absl::Duration cpu;  // of all threads, since the process began
    Metrics::Load load;
  };

  // `all`: with every answer, else with those of calls that ask. A thread
  // measures from now on; `metrics` outlive this.
  LoadReports(bool all, Metrics* metrics);
  // Tests measure themselves.
  LoadReports(bool all, int cores, const Sample& first);

  // [name, value] of what an answer tells beside its status; nothing where the
  // call did not ask. `asked`: the value of its kLoadFormatKey, or nothing.
  std::optional<std::pair<std::string, std::string>> ForGrpc(
      std::string_view asked) const;
  std::optional<std::pair<std::string, std::string>> ForHttp(
      std::string_view asked) const;

  // Reports what was between the last sample and this one.
  void Take(const Sample& sample);

 private:
  struct Texts {
    std::string bin, base64, json, text;
  };

  const bool all_;
  const int cores_;
  mutable Mutex mutex_;
  Sample last_ ABSL_GUARDED_BY(mutex_);
  Texts texts_ ABSL_GUARDED_BY(mutex_);
  std::optional<RepeatingThread> measuring_;  // the last
};

// The report of what was between two samples.
xds::OrcaLoadReport ReportLoad(const LoadReports::Sample& from,
                               const LoadReports::Sample& to, int cores);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_LOAD_REPORTS_H_
