#include "server/calls/load_reports.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <time.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/cpu_limits.h"

namespace trivium {
namespace {

constexpr char kHttpName[] = "endpoint-load-metrics";
constexpr char kBinaryName[] = "endpoint-load-metrics-bin";

LoadReports::Sample Measure(Metrics* metrics) {
  timespec cpu = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  return {SteadyNow(), absl::DurationFromTimespec(cpu), metrics->LoadNow()};
}

double Part(double part, double whole) { return whole > 0 ? part / whole : 0; }

// The growth of a counter. It may fall, since models are unloaded with their
// part of it; that counts as 0.
double Rise(double from, double to) { return std::max(0.0, to - from); }

std::string ToText(const xds::OrcaLoadReport& report) {
  std::string text = fmt::format(
      "TEXT cpu_utilization={:.4f}, mem_utilization={:.4f}, "
      "rps_fractional={:.2f}, eps={:.2f}",
      report.cpu_utilization(), report.mem_utilization(),
      report.rps_fractional(), report.eps());
  for (const auto& [name, value] : report.named_metrics()) {
    text += fmt::format(", named_metrics.{}={:.4f}", name, value);
  }
  return text;
}

std::string ToJson(const xds::OrcaLoadReport& report) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  return MessageToJsonString(report, &json, options).ok() ? "JSON " + json : "";
}

}  // namespace

xds::OrcaLoadReport ReportLoad(const LoadReports::Sample& from,
                               const LoadReports::Sample& to, int cores) {
  const double seconds = absl::ToDoubleSeconds(to.time - from.time);
  const Metrics::Load &before = from.load, &after = to.load;
  const auto rate = [seconds](double first, double second) {
    return Part(Rise(first, second), seconds);
  };
  xds::OrcaLoadReport report;
  report.set_cpu_utilization(
      rate(absl::ToDoubleSeconds(from.cpu), absl::ToDoubleSeconds(to.cpu)) /
      cores);
  report.set_mem_utilization(
      std::clamp(Part(after.memory, after.memory_limit), 0.0, 1.0));
  report.set_rps_fractional(rate(before.calls, after.calls));
  report.set_eps(rate(before.errors, after.errors));
  auto& named = *report.mutable_named_metrics();
  named["kv_cache_usage_perc"] = Part(after.blocks_used, after.blocks);
  named["num_requests_waiting"] = after.waiting;
  named["queue_wait_seconds"] =
      Part(Rise(before.queue_seconds, after.queue_seconds),
           Rise(before.started, after.started));
  return report;
}

LoadReports::LoadReports(bool all, Metrics* metrics)
    : LoadReports(all, UsableCores(), Measure(metrics)) {
  measuring_.emplace(kInterval, [this, metrics] { Record(Measure(metrics)); });
}

LoadReports::LoadReports(bool all, int cores, const Sample& first)
    : all_(all), cores_(cores), last_(first) {
  Record(first);
}

void LoadReports::Record(const Sample& sample) {
  MutexLock lock(&mutex_);
  const xds::OrcaLoadReport report = ReportLoad(last_, sample, cores_);
  last_ = sample;
  texts_.bin = report.SerializeAsString();
  texts_.base64 = "BIN " + absl::Base64Escape(texts_.bin);
  texts_.json = ToJson(report);
  texts_.text = ToText(report);
}

std::optional<std::pair<std::string, std::string>> LoadReports::ForGrpc(
    std::string_view asked) const {
  if (!all_ && asked.empty()) return std::nullopt;
  MutexLock lock(&mutex_);
  return std::pair(kBinaryName, texts_.bin);
}

std::optional<std::pair<std::string, std::string>> LoadReports::ForHttp(
    std::string_view asked) const {
  const auto is = [asked](const char* format) {
    return absl::EqualsIgnoreCase({asked.data(), asked.size()}, format);
  };
  MutexLock lock(&mutex_);
  if (is("text")) return std::pair(kHttpName, texts_.text);
  if (is("bin")) return std::pair(kHttpName, texts_.base64);
  if (all_ || is("json")) return std::pair(kHttpName, texts_.json);
  return std::nullopt;
}

}  // namespace trivium
