#include "client/load/report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

std::string InMilliseconds(const char* name, const Distribution& times) {
  return fmt::format(
      "{:<11} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.2f}\n", name,
      times.p50 * 1e3, times.p90 * 1e3, times.p95 * 1e3, times.p99 * 1e3,
      times.p999 * 1e3, times.max * 1e3, times.mean * 1e3);
}

nlohmann::ordered_json ToOrderedJson(const Distribution& times) {
  return {{"count", times.count}, {"mean", times.mean}, {"p50", times.p50},
          {"p90", times.p90},     {"p95", times.p95},   {"p99", times.p99},
          {"p99.9", times.p999},  {"max", times.max}};
}

int64_t Total(const std::map<std::string, int64_t>& errors) {
  int64_t total = 0;
  for (const auto& [name, count] : errors) total += count;
  return total;
}

}  // namespace

Distribution Distribute(std::vector<double> values) {
  Distribution result;
  result.count = static_cast<int64_t>(values.size());
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  const auto percentile = [&values](double p) {
    const auto rank = static_cast<size_t>(
        std::ceil(p / 100 * static_cast<double>(values.size())));
    return values[std::max<size_t>(rank, 1) - 1];
  };
  result.p50 = percentile(50);
  result.p90 = percentile(90);
  result.p95 = percentile(95);
  result.p99 = percentile(99);
  result.p999 = percentile(99.9);
  result.max = values.back();
  for (const double value : values) result.mean += value / values.size();
  return result;
}

std::string StatusName(grpc::StatusCode code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

void Recorder::Add(Sample sample) {
  if (sample.finished < measure_from_) return;
  const bool ok = sample.outcome.code == grpc::StatusCode::OK;
  ++(ok ? counts_.succeeded : counts_.failed);
  counts_.source_tokens += sample.outcome.source_tokens;
  counts_.new_tokens += sample.outcome.new_tokens;
  samples_.push_back(std::move(sample));
}

Report Recorder::MakeReport(absl::Time measure_to) const {
  Report report;
  report.seconds = absl::ToDoubleSeconds(measure_to - measure_from_);
  int64_t finished = 0, source_tokens = 0, new_tokens = 0;
  std::vector<double> latencies, first_pieces, gaps, outside, delays, refused;
  for (const Sample& sample : samples_) {
    const CallOutcome& outcome = sample.outcome;
    const bool ok = outcome.code == grpc::StatusCode::OK;
    if (ok && sample.finished <= measure_to) {
      ++finished;
      source_tokens += outcome.source_tokens;
      new_tokens += outcome.new_tokens;
    }
    if (sample.intended < measure_from_) continue;
    delays.push_back(absl::ToDoubleSeconds(sample.started - sample.intended));
    if (!ok) {
      if (report.errors.empty()) report.first_error = outcome.message;
      ++report.errors[StatusName(outcome.code)];
      if (outcome.code == grpc::StatusCode::RESOURCE_EXHAUSTED) {
        refused.push_back(
            absl::ToDoubleSeconds(sample.finished - sample.started));
      }
      continue;
    }
    ++report.succeeded;
    latencies.push_back(
        absl::ToDoubleSeconds(sample.finished - sample.intended));
    outside.push_back(absl::ToDoubleSeconds(sample.finished - sample.started -
                                            outcome.model_time));
    gaps.insert(gaps.end(), outcome.piece_gaps.begin(),
                outcome.piece_gaps.end());
    if (outcome.first_piece != absl::InfinitePast()) {
      first_pieces.push_back(
          absl::ToDoubleSeconds(outcome.first_piece - sample.intended));
    }
  }
  if (report.seconds > 0) {
    report.requests_per_second = finished / report.seconds;
    report.source_tokens_per_second = source_tokens / report.seconds;
    report.new_tokens_per_second = new_tokens / report.seconds;
  }
  report.latency = Distribute(std::move(latencies));
  report.first_piece = Distribute(std::move(first_pieces));
  report.piece_gap = Distribute(std::move(gaps));
  report.outside_model = Distribute(std::move(outside));
  report.refused = Distribute(std::move(refused));
  report.start_delay = Distribute(std::move(delays));
  return report;
}

std::string Report::ToText() const {
  std::string text = fmt::format(
      "{} requests succeeded, {} failed, measured for {:.1f} s\n"
      "throughput   {:.1f} requests/s  {:.0f} source tokens/s  {:.0f} new "
      "tokens/s\n",
      succeeded, Total(errors), seconds, requests_per_second,
      source_tokens_per_second, new_tokens_per_second);
  text += fmt::format("{:<11} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n",
                      "ms", "p50", "p90", "p95", "p99", "p99.9", "max", "mean");
  text += InMilliseconds("latency", latency);
  if (first_piece.count > 0) text += InMilliseconds("first piece", first_piece);
  if (piece_gap.count > 0) text += InMilliseconds("piece gap", piece_gap);
  text += InMilliseconds("outside", outside_model);
  if (refused.count > 0) text += InMilliseconds("refused", refused);
  text += InMilliseconds("start delay", start_delay);
  text +=
      "outside: a call's time without the server's tokenizer and model: "
      "waiting "
      "in its\nqueues, gRPC, the network and this client\n";
  for (const auto& [name, count] : errors) {
    text += fmt::format("error        {} {}\n", name, count);
  }
  if (!first_error.empty()) {
    text += fmt::format("first error  {}\n", first_error);
  }
  return text;
}

std::string Report::ToJson() const {
  nlohmann::ordered_json json = {
      {"seconds", seconds},
      {"succeeded", succeeded},
      {"failed", Total(errors)},
      {"errors", errors},
      {"requests_per_second", requests_per_second},
      {"source_tokens_per_second", source_tokens_per_second},
      {"new_tokens_per_second", new_tokens_per_second},
      {"latency_seconds", ToOrderedJson(latency)},
      {"first_piece_seconds", ToOrderedJson(first_piece)},
      {"piece_gap_seconds", ToOrderedJson(piece_gap)},
      {"outside_model_seconds", ToOrderedJson(outside_model)},
      {"refused_seconds", ToOrderedJson(refused)},
      {"start_delay_seconds", ToOrderedJson(start_delay)}};
  if (!first_error.empty()) json["first_error"] = first_error;
  // A message of the server need not be UTF-8.
  return json.dump(-1, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

std::string LiveLine(const Counts& counts, absl::Duration elapsed,
                     absl::Duration measured, int in_flight) {
  const double seconds = absl::ToDoubleSeconds(measured);
  const int64_t tokens =
      counts.new_tokens > 0 ? counts.new_tokens : counts.source_tokens;
  return fmt::format(
      "{:.0f} s  {} done  {} failed  {} in flight  {:.1f}/s  {:.0f} tokens/s",
      absl::ToDoubleSeconds(elapsed), counts.succeeded, counts.failed,
      in_flight, seconds > 0 ? counts.succeeded / seconds : 0,
      seconds > 0 ? tokens / seconds : 0);
}

}  // namespace trivium
