#include "client/load/report.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace trivium {
namespace {

std::string InMilliseconds(const std::string& name, int width,
                           const Distribution& times) {
  return fmt::format(
      "{:<{}} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.2f}\n", name,
      width, times.p50 * 1e3, times.p90 * 1e3, times.p95 * 1e3, times.p99 * 1e3,
      times.p999 * 1e3, times.max * 1e3, times.mean * 1e3);
}

nlohmann::ordered_json ToOrderedJson(const Distribution& times) {
  return {{"count", times.count}, {"mean", times.mean}, {"p50", times.p50},
          {"p90", times.p90},     {"p95", times.p95},   {"p99", times.p99},
          {"p99.9", times.p999},  {"max", times.max}};
}

// Makes the report of the samples of one kind, or of all if `kind` is null.
Report ReportOf(const Recording& recording, const CallKind* kind) {
  Report report;
  if (kind != nullptr) report.call = NameOf(*kind);
  report.seconds = absl::ToDoubleSeconds(recording.to - recording.from);
  int64_t finished = 0, texts = 0, source_tokens = 0, new_tokens = 0;
  std::vector<double> latencies, first_pieces, gaps, outside, delays, refused;
  for (const Sample& sample : recording.samples) {
    if (kind != nullptr && sample.kind != *kind) continue;
    const CallOutcome& outcome = sample.outcome;
    if (sample.ok() && sample.finished <= recording.to) {
      ++finished;
      texts += sample.texts;
      source_tokens += outcome.source_tokens;
      new_tokens += outcome.new_tokens;
    }
    if (sample.intended < recording.from) continue;
    delays.push_back(absl::ToDoubleSeconds(sample.started - sample.intended));
    if (sample.aborted) {
      ++report.aborted;
      continue;
    }
    if (!sample.ok()) {
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
    report.texts_per_second = texts / report.seconds;
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

Report MakeReport(const Recording& recording) {
  Report report = ReportOf(recording, nullptr);
  std::set<CallKind> kinds;
  for (const Sample& sample : recording.samples) kinds.insert(sample.kind);
  if (kinds.size() < 2) return report;
  for (const CallKind kind : kinds) {
    report.calls.push_back(ReportOf(recording, &kind));
  }
  return report;
}

int64_t Report::failed() const {
  int64_t total = 0;
  for (const auto& [name, count] : errors) total += count;
  return total;
}

std::string Report::ToText() const {
  // Wide enough for "  openai-embeddings" if there are lines for kinds.
  const int width = calls.empty() ? 11 : 19;
  std::string text = fmt::format(
      "{} requests succeeded, {} failed, {}measured for {:.1f} s\n"
      "throughput   {:.1f} requests/s  {:.1f} texts/s  {:.0f} source tokens/s  "
      "{:.0f} new tokens/s\n",
      succeeded, failed(),
      aborted > 0 ? fmt::format("{} aborted on purpose, ", aborted) : "",
      seconds, requests_per_second, texts_per_second, source_tokens_per_second,
      new_tokens_per_second);
  text +=
      fmt::format("{:<{}} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "ms",
                  width, "p50", "p90", "p95", "p99", "p99.9", "max", "mean");
  text += InMilliseconds("latency", width, latency);
  for (const Report& report : calls) {
    text += InMilliseconds("  " + report.call, width, report.latency);
  }
  if (first_piece.count > 0)
    text += InMilliseconds("first piece", width, first_piece);
  if (piece_gap.count > 0)
    text += InMilliseconds("piece gap", width, piece_gap);
  text += InMilliseconds("outside", width, outside_model);
  if (refused.count > 0) text += InMilliseconds("refused", width, refused);
  text += InMilliseconds("start delay", width, start_delay);
  text +=
      "outside: a call's time without the server's tokenizer and model: "
      "waiting in its\nqueues, the transport, the network and this client\n";
  for (const auto& [name, count] : errors) {
    text += fmt::format("error        {} {}\n", name, count);
  }
  if (!first_error.empty()) {
    text += fmt::format("first error  {}\n", first_error);
  }
  return text;
}

nlohmann::ordered_json Report::ToJson() const {
  nlohmann::ordered_json json = {
      {"seconds", seconds},
      {"succeeded", succeeded},
      {"failed", failed()},
      {"aborted", aborted},
      {"errors", errors},
      {"requests_per_second", requests_per_second},
      {"texts_per_second", texts_per_second},
      {"source_tokens_per_second", source_tokens_per_second},
      {"new_tokens_per_second", new_tokens_per_second},
      {"latency_seconds", ToOrderedJson(latency)},
      {"first_piece_seconds", ToOrderedJson(first_piece)},
      {"piece_gap_seconds", ToOrderedJson(piece_gap)},
      {"outside_model_seconds", ToOrderedJson(outside_model)},
      {"refused_seconds", ToOrderedJson(refused)},
      {"start_delay_seconds", ToOrderedJson(start_delay)}};
  for (const Report& report : calls) {
    json["calls"][report.call] = report.ToJson();
  }
  if (!first_error.empty()) json["first_error"] = first_error;
  return json;
}

std::string JsonLine(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace trivium
