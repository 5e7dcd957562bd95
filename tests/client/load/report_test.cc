#include "client/load/report.h"

#include <numeric>
#include <utility>
#include <vector>

#include "client/load/comparison.h"
#include "client/load/page.h"
#include "client/load/recorder.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const absl::Time kBegin = absl::FromUnixSeconds(1000);

TEST(DistributeTest, PercentilesAreValuesThatOccurred) {
  std::vector<double> values(100);
  std::iota(values.rbegin(), values.rend(), 1);  // 100 .. 1
  const Distribution times = Distribute(values);
  EXPECT_EQ(times.count, 100);
  EXPECT_EQ(times.p50, 50);
  EXPECT_EQ(times.p90, 90);
  EXPECT_EQ(times.p95, 95);
  EXPECT_EQ(times.p99, 99);
  EXPECT_EQ(times.p999, 100);
  EXPECT_EQ(times.max, 100);
  EXPECT_NEAR(times.mean, 50.5, 1e-9);
  EXPECT_EQ(Distribute({}).p99, 0);
  EXPECT_EQ(Distribute({7}).p50, 7);
  EXPECT_EQ(Distribute({7}).p99, 7);
  EXPECT_EQ(Distribute({1, 2}).p50, 1);
  EXPECT_EQ(Distribute({1, 2}).p99, 2);
}

Sample SampleAt(double intended, double started, double finished,
                CallOutcome outcome = {}) {
  return {kBegin + absl::Seconds(intended), kBegin + absl::Seconds(started),
          kBegin + absl::Seconds(finished), std::move(outcome)};
}

Report ReportAt(Recorder recorder, double to) {
  return MakeReport(std::move(recorder).Finish(kBegin + absl::Seconds(to)));
}

TEST(RecorderTest, LatencyCountsFromTheIntendedStart) {
  Recorder recorder(kBegin);
  recorder.Add(SampleAt(1, 5, 6));
  const Report report = ReportAt(std::move(recorder), 10);
  EXPECT_NEAR(report.latency.p50, 5, 1e-9);
  EXPECT_NEAR(report.start_delay.p50, 4, 1e-9);
}

TEST(RecorderTest, IgnoresTheWarmUpAndTheStragglers) {
  Recorder recorder(kBegin + absl::Seconds(10));
  CallOutcome outcome;
  outcome.source_tokens = 3;
  outcome.new_tokens = 5;
  recorder.Add(SampleAt(1, 1, 9, outcome));     // all in the warm-up
  recorder.Add(SampleAt(9, 9, 11, outcome));    // throughput only
  recorder.Add(SampleAt(12, 12, 13, outcome));  // both
  recorder.Add(SampleAt(14, 14, 21, outcome));  // latency only
  const Report report = ReportAt(std::move(recorder), 20);
  EXPECT_EQ(report.succeeded, 2);
  EXPECT_EQ(report.latency.count, 2);
  EXPECT_NEAR(report.latency.max, 7, 1e-9);
  EXPECT_NEAR(report.requests_per_second, 0.2, 1e-9);
  EXPECT_NEAR(report.source_tokens_per_second, 0.6, 1e-9);
  EXPECT_NEAR(report.new_tokens_per_second, 1, 1e-9);
}

TEST(RecorderTest, ReportsTimesOutsideTheModelAndBetweenPieces) {
  Recorder recorder(kBegin);
  CallOutcome outcome;
  outcome.model_time = absl::Milliseconds(300);
  outcome.piece_gaps = {0.1, 0.2};
  recorder.Add(SampleAt(1, 2, 2.5, outcome));  // the late start does not count
  recorder.Add(SampleAt(1, 1, 1.5));  // without timings all of it counts
  outcome.code = grpc::StatusCode::CANCELLED;
  recorder.Add(SampleAt(1, 1, 9, outcome));
  const auto json = nlohmann::json::parse(
      JsonLine(ReportAt(std::move(recorder), 10).ToJson()));
  EXPECT_EQ(json["outside_model_seconds"]["count"], 2);
  EXPECT_NEAR(json["outside_model_seconds"]["p50"], 0.2, 1e-9);
  EXPECT_NEAR(json["outside_model_seconds"]["max"], 0.5, 1e-9);
  EXPECT_EQ(json["piece_gap_seconds"]["count"], 2);
  EXPECT_EQ(json["piece_gap_seconds"]["max"], 0.2);
}

TEST(RecorderTest, CountsErrorsByStatus) {
  Recorder recorder(kBegin);
  CallOutcome full;
  full.code = grpc::StatusCode::RESOURCE_EXHAUSTED;
  full.message = "full \xff";
  recorder.Add(SampleAt(1, 1, 2, full));
  recorder.Add(SampleAt(1, 1, 2, full));
  recorder.Add(SampleAt(1, 1, 2));
  EXPECT_EQ(LiveLine(recorder.counts(), absl::Seconds(3), absl::Seconds(2), 8),
            "3 s  1 done  2 failed  8 in flight  0.5/s  0 tokens/s");
  const Report report = ReportAt(std::move(recorder), 2);
  EXPECT_EQ(report.errors.at("RESOURCE_EXHAUSTED"), 2);
  EXPECT_EQ(report.latency.count, 1);
  EXPECT_THAT(report.ToText(), HasSubstr("error        RESOURCE_EXHAUSTED 2"));
  const auto json = nlohmann::json::parse(JsonLine(report.ToJson()));
  EXPECT_EQ(json["failed"], 2);
  EXPECT_EQ(json["errors"]["RESOURCE_EXHAUSTED"], 2);
  EXPECT_EQ(json["refused_seconds"]["count"], 2);
  EXPECT_EQ(json["refused_seconds"]["p99"], 1.0);
  EXPECT_EQ(json["latency_seconds"]["p99"], 1.0);
}

TEST(RecorderTest, DoesNotCountAbortsAsFailures) {
  Recorder recorder(kBegin);
  Sample sample = SampleAt(1, 1, 2);
  sample.texts = 3;
  recorder.Add(sample);
  sample.outcome.code = grpc::StatusCode::CANCELLED;
  sample.aborted = true;
  recorder.Add(sample);
  EXPECT_EQ(LiveLine(recorder.counts(), absl::Seconds(3), absl::Seconds(2), 0),
            "3 s  1 done  0 failed  1 aborted  0 in flight  0.5/s  0 tokens/s");
  const Report report = ReportAt(std::move(recorder), 2);
  EXPECT_EQ(report.aborted, 1);
  EXPECT_EQ(report.failed(), 0);
  EXPECT_EQ(report.latency.count, 1);
  EXPECT_EQ(report.texts_per_second, 1.5);
  EXPECT_THAT(report.ToText(), HasSubstr("1 aborted on purpose"));
  EXPECT_EQ(report.ToJson()["aborted"], 1);
}

TEST(RecorderTest, ReportsEachCallOfAMix) {
  Recorder recorder(kBegin);
  Sample sample = SampleAt(1, 1, 2);
  recorder.Add(sample);
  sample.kind = CallKind::kEncode;
  sample.finished += absl::Seconds(2);
  recorder.Add(sample);
  const Report report = ReportAt(std::move(recorder), 10);
  EXPECT_EQ(report.latency.count, 2);
  const auto json = report.ToJson();
  EXPECT_EQ(json["calls"].size(), 2u);
  EXPECT_EQ(json["calls"]["translate"]["latency_seconds"]["max"], 1.0);
  EXPECT_EQ(json["calls"]["encode"]["latency_seconds"]["max"], 3.0);
  EXPECT_THAT(report.ToText(), HasSubstr("  encode"));
}

Report Figures(double rate, double p99) {
  Report report;
  report.requests_per_second = rate;
  report.latency.p99 = p99;
  return report;
}

TEST(CompareTest, ComputesTheRatioOfEachRound) {
  const std::vector<Ratio> ratios = Compare({{Figures(10, 1), Figures(20, 2)},
                                             {Figures(30, 2), Figures(20, 2)},
                                             {Figures(24, 6), Figures(20, 2)}});
  ASSERT_EQ(ratios.size(), 2u);
  EXPECT_EQ(ratios[0].name, "requests/s");
  EXPECT_THAT(ratios[0].rounds, ElementsAre(0.5, 1.5, 1.2));
  EXPECT_EQ(ratios[0].median, 1.2);
  EXPECT_EQ(ratios[0].lowest, 0.5);
  EXPECT_EQ(ratios[0].highest, 1.5);
  EXPECT_EQ(ratios[1].name, "p99");
  EXPECT_EQ(ratios[1].median, 1);
}

TEST(CompareTest, LeavesOutFiguresThatOneServerLacks) {
  EXPECT_TRUE(Compare({}).empty());
  // In one of two rounds no call succeeded, so it has no latencies.
  const std::vector<Ratio> ratios = Compare(
      {{Figures(10, 1), Figures(20, 2)}, {Figures(10, 1), Figures(10, 0)}});
  ASSERT_EQ(ratios.size(), 1u);
  EXPECT_EQ(ratios[0].median, 0.75);
}

TEST(PageRunTest, CountsCallsInTheSlicesOfTheirStartAndEnd) {
  CallOutcome failure;
  failure.code = grpc::StatusCode::INTERNAL;
  Sample aborted = SampleAt(3.1, 3.1, 3.2);
  aborted.aborted = true;
  const Recording recording = {
      kBegin,
      kBegin + absl::Seconds(20.5),
      {SampleAt(-1, -1, 0.05), SampleAt(1.1, 1.1, 1.15),
       SampleAt(1.15, 1.15, 3.15), SampleAt(2, 2, 2.1, failure), aborted,
       SampleAt(20.45, 20.45, 21)}};
  const nlohmann::json run = PageRun("name", recording);
  EXPECT_EQ(run["name"], "name");
  EXPECT_EQ(run["report"]["failed"], 1);
  EXPECT_EQ(run["slices"]["seconds"], 0.2);
  const nlohmann::json& slices = run["slices"]["calls"];
  ASSERT_EQ(slices.size(), 103u);
  EXPECT_NEAR(slices[0]["done"], 5, 1e-6);  // one in 0.2 s
  EXPECT_EQ(slices[0]["started"], 0);
  EXPECT_TRUE(slices[0]["p50"].is_null());
  EXPECT_NEAR(slices[5]["started"], 10, 1e-6);
  EXPECT_NEAR(slices[5]["p50"], 0.05, 1e-9);
  EXPECT_NEAR(slices[5]["p99"], 2, 1e-9);
  EXPECT_NEAR(slices[10]["failed"], 5, 1e-6);
  EXPECT_TRUE(slices[10]["p99"].is_null());
  EXPECT_NEAR(slices[15]["done"], 5, 1e-6);
  EXPECT_NEAR(slices[16]["aborted"], 5, 1e-6);
  // The last slice is half as long. Calls that ended later are in no slice.
  EXPECT_NEAR(slices[102]["started"], 10, 1e-6);
  EXPECT_EQ(slices[102]["done"], 0);
}

TEST(PageRunTest, CountsEveryLatencyBetweenItsBounds) {
  std::vector<Sample> samples;
  for (const double latency : {0.001, 0.0011, 0.02, 0.5}) {
    samples.push_back(SampleAt(0, 0, latency));
  }
  samples[3].kind = CallKind::kEncode;
  const nlohmann::json run =
      PageRun("", {kBegin, kBegin + absl::Seconds(1), samples});
  const std::vector<double> bounds = run["latencies"]["bounds"];
  const std::vector<int> counts = run["latencies"]["counts"];
  ASSERT_EQ(bounds.size(), counts.size() + 1);
  EXPECT_GE(counts.front(), 1);
  EXPECT_GE(counts.back(), 1);
  for (const Sample& sample : samples) {
    const double latency =
        absl::ToDoubleSeconds(sample.finished - sample.intended);
    int inside = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      inside += latency >= bounds[i] * (1 - 1e-9) &&
                        latency <= bounds[i + 1] * (1 + 1e-9)
                    ? counts[i]
                    : 0;
    }
    EXPECT_GE(inside, 1) << latency;
  }
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), 4);
  ASSERT_EQ(run["calls"].size(), 2u);
  EXPECT_EQ(run["calls"][1]["name"], "encode");
  const std::vector<int> encodes = run["calls"][1]["latencies"];
  EXPECT_EQ(encodes.size(), counts.size());
  EXPECT_EQ(encodes.back(), 1);
}

TEST(PageRunTest, MergesATinyLastSlice) {
  const nlohmann::json run = PageRun(
      "",
      {kBegin, kBegin + absl::Seconds(2.001), {SampleAt(1.95, 1.95, 2.0005)}});
  const nlohmann::json& slices = run["slices"]["calls"];
  ASSERT_EQ(slices.size(), 20u);
  EXPECT_NEAR(slices[19]["done"], 1 / 0.101, 1e-6);
}

TEST(PageRunTest, AcceptsARecordingWithoutCalls) {
  const nlohmann::json run = PageRun("", {kBegin, kBegin, {}});
  EXPECT_TRUE(run["latencies"]["counts"].empty());
  EXPECT_EQ(run["slices"]["calls"].size(), 1u);
}

}  // namespace
}  // namespace trivium
