#include "client/load/comparison.h"

#include <algorithm>
#include <functional>

namespace trivium {
namespace {

struct Figure {
  const char* name;
  std::function<double(const Report&)> of;
};

// Returns the median. For an even number of values it is the mean of the two in
// the middle.
double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half]
                                : (values[half - 1] + values[half]) / 2;
}

}  // namespace

std::vector<Ratio> Compare(const std::vector<Round>& rounds) {
  static const std::vector<Figure> figures = {
      {"requests/s", [](const Report& r) { return r.requests_per_second; }},
      {"texts/s", [](const Report& r) { return r.texts_per_second; }},
      {"new tokens/s", [](const Report& r) { return r.new_tokens_per_second; }},
      {"p50", [](const Report& r) { return r.latency.p50; }},
      {"p95", [](const Report& r) { return r.latency.p95; }},
      {"p99", [](const Report& r) { return r.latency.p99; }},
      {"first piece p50", [](const Report& r) { return r.first_piece.p50; }}};
  std::vector<Ratio> ratios;
  for (const Figure& figure : figures) {
    Ratio ratio{figure.name, {}};
    for (const Round& round : rounds) {
      const double first = figure.of(round.first);
      const double second = figure.of(round.second);
      if (first > 0 && second > 0) ratio.rounds.push_back(first / second);
    }
    if (rounds.empty() || ratio.rounds.size() < rounds.size()) continue;
    ratio.median = Median(ratio.rounds);
    ratio.lowest = *std::min_element(ratio.rounds.begin(), ratio.rounds.end());
    ratio.highest = *std::max_element(ratio.rounds.begin(), ratio.rounds.end());
    ratios.push_back(std::move(ratio));
  }
  return ratios;
}

}  // namespace trivium
