#include "client/load/experiments.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/print.h"
#include "client/load/comparison.h"
#include "client/load/page.h"
#include "client/load/report.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// A rate that a search has measured.
struct Point {
  double rate;
  bool passed;
  Report report;
};

// Prints a line that stays, above the live one.
void Tell(const LoadSetup& setup, const std::string& line) {
  if (setup.run.live != nullptr) PrintTo(setup.run.live, "{}\n", line);
}

std::string InWords(const Report& report) {
  return fmt::format(
      "{:.1f} requests/s, p50 {:.1f} ms, p99 {:.1f} ms, {} failed",
      report.requests_per_second, 1e3 * report.latency.p50,
      1e3 * report.latency.p99, report.failed());
}

std::string SearchText(const std::vector<Point>& points, double highest,
                       absl::Duration limit) {
  std::string text = fmt::format(
      "highest rate with p99 <= {}: {}\n{:>10} {:>12} {:>9} {:>9} {:>9} "
      "{:>7}\n",
      absl::FormatDuration(limit),
      highest > 0 ? fmt::format("{:.1f} calls/s", highest)
                  : "none of those that were tried",
      "calls/s", "succeeded/s", "p50 ms", "p99 ms", "failed", "passed");
  double late = 0;
  for (const Point& point : points) {
    const Report& report = point.report;
    text += fmt::format("{:10.1f} {:12.1f} {:9.1f} {:9.1f} {:9} {:>7}\n",
                        point.rate, report.requests_per_second,
                        1e3 * report.latency.p50, 1e3 * report.latency.p99,
                        report.failed(), point.passed ? "yes" : "no");
    if (point.passed) late = std::max(late, report.start_delay.p99);
  }
  if (late > 0.1 * absl::ToDoubleSeconds(limit)) {
    text += fmt::format(
        "warning: calls started up to {:.0f} ms late (p99): this machine could "
        "not keep up\n",
        1e3 * late);
  }
  return text;
}

nlohmann::ordered_json SearchJson(const std::vector<Point>& points,
                                  double highest, absl::Duration limit) {
  nlohmann::ordered_json json = {
      {"highest_rate", highest},
      {"p99_limit_seconds", absl::ToDoubleSeconds(limit)},
      {"points", nlohmann::ordered_json::array()}};
  for (const Point& point : points) {
    nlohmann::ordered_json one = {{"rate", point.rate},
                                  {"passed", point.passed}};
    one.update(point.report.ToJson());
    json["points"].push_back(std::move(one));
  }
  return json;
}

std::string ComparisonText(const std::vector<Round>& rounds,
                           const std::vector<Ratio>& ratios,
                           const Target& first, const Target& second) {
  std::string text = fmt::format(
      "{} over {}, {} rounds\n{:<16} {:>9} {:>9} {:>9}\n", first.name,
      second.name, rounds.size(), "ratio", "median", "lowest", "highest");
  for (const Ratio& ratio : ratios) {
    text += fmt::format("{:<16} {:9.3f} {:9.3f} {:9.3f}\n", ratio.name,
                        ratio.median, ratio.lowest, ratio.highest);
  }
  for (size_t i = 0; i < rounds.size(); ++i) {
    text += fmt::format("round {}  {}: {}\n         {}: {}\n", i + 1,
                        first.name, InWords(rounds[i].first), second.name,
                        InWords(rounds[i].second));
  }
  return text;
}

nlohmann::ordered_json ComparisonJson(const std::vector<Round>& rounds,
                                      const std::vector<Ratio>& ratios,
                                      const Target& first,
                                      const Target& second) {
  nlohmann::ordered_json json = {{"first", first.name},
                                 {"second", second.name},
                                 {"ratios", nlohmann::ordered_json::object()},
                                 {"rounds", nlohmann::ordered_json::array()}};
  for (const Ratio& ratio : ratios) {
    json["ratios"][ratio.name] = {{"median", ratio.median},
                                  {"lowest", ratio.lowest},
                                  {"highest", ratio.highest},
                                  {"rounds", ratio.rounds}};
  }
  for (const Round& round : rounds) {
    json["rounds"].push_back(
        {{"first", round.first.ToJson()}, {"second", round.second.ToJson()}});
  }
  return json;
}

}  // namespace

Recording LoadSetup::Measure(const Target& target, const Pacing& pace,
                             const std::string& title) const {
  return RunLoad(run, pace, workload, *target.caller, title, stop);
}

Findings MeasureOnce(const LoadSetup& setup, const Target& target) {
  const Recording recording = setup.Measure(target, setup.pacing, "");
  const Report report = MakeReport(recording);
  Findings findings;
  findings.succeeded = report.succeeded > 0;
  findings.text = report.ToText();
  findings.json = report.ToJson();
  findings.page["runs"].push_back(PageRun(target.name, recording));
  return findings;
}

Findings FindRate(const LoadSetup& setup, const Target& target,
                  absl::Duration limit, const RateSearch::Options& options) {
  Findings findings;
  double start = setup.pacing.rate;
  if (start == 0) {
    const Report full =
        MakeReport(setup.Measure(target, setup.pacing, "all it can  "));
    Tell(setup, fmt::format("{} in flight: {}", setup.pacing.concurrency,
                            InWords(full)));
    start = full.requests_per_second;
    if (start == 0) {
      findings.text = full.ToText();
      findings.json = SearchJson({}, 0, limit);
      findings.json["first_error"] = full.first_error;
      return findings;
    }
  }
  RateSearch search(start, options);
  std::vector<Point> points;
  while (!search.done()) {
    Pacing pace = setup.pacing;
    pace.rate = search.rate();
    const Recording recording =
        setup.Measure(target, pace, fmt::format("{:.1f}/s  ", pace.rate));
    if (setup.stop) break;  // the measurement was cut short
    const Report report = MakeReport(recording);
    const bool passed = report.failed() == 0 && report.succeeded > 0 &&
                        report.latency.p99 <= absl::ToDoubleSeconds(limit);
    search.Add(passed);
    points.push_back({pace.rate, passed, report});
    findings.page["runs"].push_back(
        PageRun(fmt::format("{:.1f}/s", pace.rate), recording));
    Tell(setup, fmt::format("{:.1f}/s {}: {}", pace.rate,
                            passed ? "passed" : "failed", InWords(report)));
  }
  findings.succeeded = search.highest() > 0;
  findings.text = SearchText(points, search.highest(), limit);
  findings.json = SearchJson(points, search.highest(), limit);
  auto& page = findings.page["search"];
  page = {{"limit", absl::ToDoubleSeconds(limit)},
          {"highest", search.highest()},
          {"points", nlohmann::json::array()}};
  for (const Point& point : points) {
    page["points"].push_back({{"rate", point.rate}, {"passed", point.passed}});
  }
  return findings;
}

Findings CompareServers(const LoadSetup& setup, const Target& first,
                        const Target& second, int rounds) {
  Findings findings;
  std::vector<Round> measured;
  for (int i = 0; i < rounds && !setup.stop; ++i) {
    Round round;
    for (const bool is_first : {i % 2 == 0, i % 2 != 0}) {
      const Target& target = is_first ? first : second;
      const Recording recording = setup.Measure(
          target, setup.pacing,
          fmt::format("round {} of {}, {}  ", i + 1, rounds, target.name));
      Report& report = is_first ? round.first : round.second;
      report = MakeReport(recording);
      Tell(setup, fmt::format("round {} of {}, {}: {}", i + 1, rounds,
                              target.name, InWords(report)));
      findings.page["runs"].push_back(
          PageRun(fmt::format("{}, round {}", target.name, i + 1), recording));
    }
    if (setup.stop) break;  // a round that was cut short cannot be compared
    findings.succeeded |=
        round.first.succeeded > 0 || round.second.succeeded > 0;
    measured.push_back(std::move(round));
  }
  const std::vector<Ratio> ratios = Compare(measured);
  findings.text = ComparisonText(measured, ratios, first, second);
  findings.json = ComparisonJson(measured, ratios, first, second);
  findings.page["comparison"] = {{"first", first.name},
                                 {"second", second.name},
                                 {"ratios", nlohmann::json::array()}};
  for (const Ratio& ratio : ratios) {
    findings.page["comparison"]["ratios"].push_back({{"name", ratio.name},
                                                     {"median", ratio.median},
                                                     {"rounds", ratio.rounds}});
  }
  return findings;
}

}  // namespace trivium
