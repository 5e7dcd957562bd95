#include "client/load/page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "client/load/report.h"

namespace trivium {
namespace {

using nlohmann::json;

// Returns the smallest of 1, 2 and 5 times a power of ten, from 0.1 s on, that
// cuts a time into few enough slices.
double SliceSeconds(double seconds) {
  constexpr double kMost = 120;
  for (double power = 0.1;; power *= 10) {
    for (const double step : {1.0, 2.0, 5.0}) {
      if (seconds <= kMost * step * power) return step * power;
    }
  }
}

struct Slice {
  std::vector<double> latencies;
  int started = 0, done = 0, failed = 0, aborted = 0;
};

json ToSlices(const Recording& recording) {
  const double seconds = absl::ToDoubleSeconds(recording.to - recording.from);
  const double width = SliceSeconds(seconds);
  // The rest is a slice of its own, unless it is less than a tenth of one.
  std::vector<Slice> slices(std::max(1.0, std::ceil(seconds / width - 0.1)));
  // Returns null for a time before or after the measurement.
  const auto slice_at = [&](absl::Time time) -> Slice* {
    if (time < recording.from || time > recording.to) return nullptr;
    const double at = absl::ToDoubleSeconds(time - recording.from) / width;
    return &slices[std::min(slices.size() - 1, static_cast<size_t>(at))];
  };
  for (const Sample& sample : recording.samples) {
    if (Slice* const slice = slice_at(sample.intended)) {
      ++slice->started;
      if (sample.ok()) {
        slice->latencies.push_back(
            absl::ToDoubleSeconds(sample.finished - sample.intended));
      }
    }
    if (Slice* const slice = slice_at(sample.finished)) {
      ++(sample.aborted ? slice->aborted
         : sample.ok()  ? slice->done
                        : slice->failed);
    }
  }
  json calls = json::array();
  for (size_t i = 0; i < slices.size(); ++i) {
    // The last slice may have another length.
    const double part = i + 1 < slices.size() ? width : seconds - i * width;
    const auto rate = [part](int count) { return part > 0 ? count / part : 0; };
    const Slice& slice = slices[i];
    json call = {{"p50", nullptr},
                 {"p95", nullptr},
                 {"p99", nullptr},
                 {"started", rate(slice.started)},
                 {"done", rate(slice.done)},
                 {"failed", rate(slice.failed)},
                 {"aborted", rate(slice.aborted)}};
    if (!slice.latencies.empty()) {
      const Distribution times = Distribute(slice.latencies);
      call["p50"] = times.p50;
      call["p95"] = times.p95;
      call["p99"] = times.p99;
    }
    calls.push_back(std::move(call));
  }
  return {{"seconds", width}, {"calls", std::move(calls)}};
}

// Buckets whose bounds grow by a constant ratio, 20 to a factor of ten.
class Buckets {
 public:
  explicit Buckets(const std::vector<double>& seconds) {
    for (const double one : seconds) {
      first_ = std::min(first_, IndexOf(one));
      last_ = std::max(last_, IndexOf(one));
    }
  }

  json bounds() const {
    json bounds = json::array();
    for (int i = first_; i <= last_ + 1; ++i) {
      bounds.push_back(std::pow(10, i / kPerTen));
    }
    return bounds;
  }
  json Count(const std::vector<double>& seconds) const {
    std::vector<int> counts(std::max(0, last_ - first_ + 1));
    for (const double one : seconds) ++counts[IndexOf(one) - first_];
    return counts;
  }

 private:
  static constexpr double kPerTen = 20;
  static int IndexOf(double seconds) {
    constexpr double kLeast = 1e-6;
    return static_cast<int>(
        std::floor(kPerTen * std::log10(std::max(seconds, kLeast))));
  }

  int first_ = 1000, last_ = -1000;
};

}  // namespace

nlohmann::json PageRun(const std::string& name, const Recording& recording) {
  std::vector<double> all;
  std::map<CallKind, std::vector<double>> by_kind;
  for (const Sample& sample : recording.samples) {
    if (!sample.ok() || sample.intended < recording.from) continue;
    const double seconds =
        absl::ToDoubleSeconds(sample.finished - sample.intended);
    all.push_back(seconds);
    by_kind[sample.kind].push_back(seconds);
  }
  const Buckets buckets(all);
  json calls = json::array();
  if (by_kind.size() > 1) {
    for (const auto& [kind, seconds] : by_kind) {
      calls.push_back(
          {{"name", NameOf(kind)}, {"latencies", buckets.Count(seconds)}});
    }
  }
  return {{"name", name},
          {"report", MakeReport(recording).ToJson()},
          {"slices", ToSlices(recording)},
          {"latencies",
           {{"bounds", all.empty() ? json::array() : buckets.bounds()},
            {"counts", buckets.Count(all)}}},
          {"calls", std::move(calls)}};
}

}  // namespace trivium
