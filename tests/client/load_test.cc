#include <cmath>
#include <fstream>
#include <numeric>

#include "client/load/command.h"
#include "client/load/pacer.h"
#include "client/load/report.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "nlohmann/json.hpp"
#include "tests/client/fake_server.h"
#include "tests/client/run_command.h"

namespace trivium {
namespace {

using ::testing::HasSubstr;

const absl::Time kStart = absl::FromUnixSeconds(1000);

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

TEST(PoissonPacerTest, HasTheRateAndSpreadOfAPoissonProcess) {
  PoissonPacer pacer(50, 7, 10, kStart);
  constexpr int kCount = 20000;
  absl::Time last = kStart;
  double sum = 0, squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const absl::Time next = pacer.NextStart(kStart, 0);
    const double gap = absl::ToDoubleSeconds(next - last);
    ASSERT_GE(gap, 0);
    sum += gap;
    squares += gap * gap;
    last = next;
    pacer.Started();
  }
  const double mean = sum / kCount;
  // Five standard errors: 1/rate / sqrt(n), and for the deviation, which
  // equals the mean, sqrt(2 / n) of it.
  EXPECT_NEAR(mean, 0.02, 5 * 0.02 / std::sqrt(kCount));
  EXPECT_NEAR(std::sqrt(squares / kCount - mean * mean), 0.02,
              5 * 0.02 * std::sqrt(2.0 / kCount));
}

TEST(PoissonPacerTest, TheSeedDecidesTheTimes) {
  PoissonPacer one(50, 7, 10, kStart), same(50, 7, 10, kStart),
      other(50, 8, 10, kStart);
  EXPECT_EQ(one.NextStart(kStart, 0), same.NextStart(kStart, 0));
  EXPECT_NE(one.NextStart(kStart, 0), other.NextStart(kStart, 0));
  // The times do not depend on when they are asked for.
  const absl::Time due = one.NextStart(kStart, 0);
  EXPECT_EQ(one.NextStart(due + absl::Seconds(60), 3), due);
  EXPECT_EQ(one.NextStart(kStart, 10), absl::InfiniteFuture());
  EXPECT_EQ(one.NextStart(kStart, 9), due);
}

TEST(ClosedPacerTest, KeepsTheNumberInFlight) {
  ClosedPacer pacer(2);
  EXPECT_EQ(pacer.NextStart(kStart, 0), kStart);
  EXPECT_EQ(pacer.NextStart(kStart, 1), kStart);
  EXPECT_EQ(pacer.NextStart(kStart, 2), absl::InfiniteFuture());
}

Sample SampleAt(double intended, double started, double finished,
                CallOutcome outcome = {}) {
  return {kStart + absl::Seconds(intended), kStart + absl::Seconds(started),
          kStart + absl::Seconds(finished), std::move(outcome)};
}

TEST(RecorderTest, LatencyCountsFromTheIntendedStart) {
  Recorder recorder(kStart);
  recorder.Add(SampleAt(1, 5, 6));
  const Report report = recorder.MakeReport(kStart + absl::Seconds(10));
  EXPECT_NEAR(report.latency.p50, 5, 1e-9);
  EXPECT_NEAR(report.start_delay.p50, 4, 1e-9);
}

TEST(RecorderTest, TheWarmUpAndTheStragglersDoNotCount) {
  Recorder recorder(kStart + absl::Seconds(10));
  CallOutcome outcome;
  outcome.source_tokens = 3;
  outcome.new_tokens = 5;
  recorder.Add(SampleAt(1, 1, 9, outcome));     // all in the warm-up
  recorder.Add(SampleAt(9, 9, 11, outcome));    // throughput only
  recorder.Add(SampleAt(12, 12, 13, outcome));  // both
  recorder.Add(SampleAt(14, 14, 21, outcome));  // latency only
  const Report report = recorder.MakeReport(kStart + absl::Seconds(20));
  EXPECT_EQ(report.succeeded, 2);
  EXPECT_EQ(report.latency.count, 2);
  EXPECT_NEAR(report.latency.max, 7, 1e-9);
  EXPECT_NEAR(report.requests_per_second, 0.2, 1e-9);
  EXPECT_NEAR(report.source_tokens_per_second, 0.6, 1e-9);
  EXPECT_NEAR(report.new_tokens_per_second, 1, 1e-9);
}

TEST(RecorderTest, TimesOutsideTheModelAndBetweenPieces) {
  Recorder recorder(kStart);
  CallOutcome outcome;
  outcome.model_time = absl::Milliseconds(300);
  outcome.piece_gaps = {0.1, 0.2};
  recorder.Add(SampleAt(1, 2, 2.5, outcome));  // the late start is not ours
  recorder.Add(SampleAt(1, 1, 1.5));           // without timings: all of it
  outcome.code = grpc::StatusCode::CANCELLED;
  recorder.Add(SampleAt(1, 1, 9, outcome));
  const auto json = nlohmann::json::parse(
      recorder.MakeReport(kStart + absl::Seconds(10)).ToJson());
  EXPECT_EQ(json["outside_model_seconds"]["count"], 2);
  EXPECT_NEAR(json["outside_model_seconds"]["p50"], 0.2, 1e-9);
  EXPECT_NEAR(json["outside_model_seconds"]["max"], 0.5, 1e-9);
  EXPECT_EQ(json["piece_gap_seconds"]["count"], 2);
  EXPECT_EQ(json["piece_gap_seconds"]["max"], 0.2);
}

TEST(RecorderTest, CountsErrorsByStatus) {
  Recorder recorder(kStart);
  CallOutcome full;
  full.code = grpc::StatusCode::RESOURCE_EXHAUSTED;
  full.message = "full \xff";
  recorder.Add(SampleAt(1, 1, 2, full));
  recorder.Add(SampleAt(1, 1, 2, full));
  recorder.Add(SampleAt(1, 1, 2));
  const Report report = recorder.MakeReport(kStart + absl::Seconds(2));
  EXPECT_EQ(report.errors.at("RESOURCE_EXHAUSTED"), 2);
  EXPECT_EQ(report.latency.count, 1);
  EXPECT_THAT(report.ToText(), HasSubstr("error        RESOURCE_EXHAUSTED 2"));
  const auto json = nlohmann::json::parse(report.ToJson());
  EXPECT_EQ(json["failed"], 2);
  EXPECT_EQ(json["errors"]["RESOURCE_EXHAUSTED"], 2);
  EXPECT_EQ(json["refused_seconds"]["count"], 2);
  EXPECT_EQ(json["refused_seconds"]["p99"], 1.0);
  EXPECT_EQ(json["latency_seconds"]["p99"], 1.0);
  EXPECT_EQ(LiveLine(recorder.counts(), absl::Seconds(3), absl::Seconds(2), 8),
            "3 s  1 done  2 failed  8 in flight  0.5/s  0 tokens/s");
}

class LoadCommandTest : public testing::Test {
 protected:
  LoadCommandTest() { std::ofstream(file_) << "one\ntwo\nthree\n"; }

  CommandRun Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--address", server_.address(), "--file",
                                       file_, "--warm-up", "0"});
    const std::atomic<bool> stop{false};
    return RunWithFiles(
        [&](const Io& io) { return RunTriviumLoad(arguments, io, stop); });
  }

  const std::string file_ = testing::TempDir() + "/load_test.txt";
  FakeServer server_;
};

TEST_F(LoadCommandTest, CallsAsManyTimesAsAsked) {
  const CommandRun run =
      Run({"--count", "20", "--concurrency", "4", "--json", "--beam-size", "2",
           "--max-new-tokens", "9", "--inputs-per-call", "2"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["succeeded"], 20);
  EXPECT_EQ(server_.translate_calls, 20);
  EXPECT_GT(json["new_tokens_per_second"], 0);
  EXPECT_EQ(server_.last_translate.inputs_size(), 2);
  EXPECT_EQ(server_.last_translate.options().decoding().ShortDebugString(),
            "beam_size: 2 max_new_tokens: 9");
}

TEST_F(LoadCommandTest, OpenLoopEncodesAndGenerates) {
  CommandRun run = Run({"--call", "encode", "--rate", "500", "--count", "20",
                        "--connections", "2"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_THAT(run.out, HasSubstr("20 requests succeeded, 0 failed"));
  run = Run(
      {"--call", "generate", "--rate", "500", "--duration", "0.1", "--json"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_GT(json["first_piece_seconds"]["count"], 0);
  // Two pieces each: one gap.
  EXPECT_EQ(json["piece_gap_seconds"]["count"],
            json["first_piece_seconds"]["count"]);
  EXPECT_TRUE(server_.last_generate.tokens());
}

TEST_F(LoadCommandTest, CallsWithoutWork) {
  const CommandRun run = Run({"--call", "model", "--count", "5", "--json"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["succeeded"], 5);
  EXPECT_EQ(json["outside_model_seconds"]["count"], 5);
  EXPECT_EQ(server_.translate_calls, 0);
}

TEST_F(LoadCommandTest, EveryCallCanBeMade) {
  int made = 0;
  for (const char* call : {"translate", "translate-stream", "encode",
                           "generate", "score", "classify", "rerank", "tag",
                           "answer", "fill-mask", "tokenize", "model"}) {
    ++made;
    const CommandRun run =
        Run({"--call", call, "--count", "3", "--inputs-per-call", "2"});
    EXPECT_EQ(run.code, kExitOk) << call << ": " << run.err << run.out;
    EXPECT_THAT(run.out, HasSubstr("3 requests succeeded, 0 failed")) << call;
    EXPECT_THAT(run.out, HasSubstr("p95"));
    EXPECT_THAT(run.out, HasSubstr("p99.9"));
    EXPECT_THAT(run.out, HasSubstr("outside: a call's time without"));
  }
  EXPECT_EQ(server_.last_rerank.query(), "one");
  EXPECT_EQ(server_.last_rerank.documents_size(), 2);
  EXPECT_EQ(server_.last_score.inputs_size(), 2);
  // The fake does not know these; the calls reach it.
  for (const char* call : {"encode-stream", "detokenize"}) {
    ++made;
    std::ofstream(file_) << "17 4\n";
    const CommandRun run = Run({"--call", call, "--ids", "--count", "2"});
    EXPECT_EQ(run.code, kExitFailed);
    EXPECT_THAT(run.out, HasSubstr("UNIMPLEMENTED 2")) << run.out;
  }
  // All of Inference, and a call of Models.
  EXPECT_EQ(made - 1, google::protobuf::DescriptorPool::generated_pool()
                          ->FindServiceByName("trivium.v1.Inference")
                          ->method_count());
  EXPECT_EQ(Run({"--call", "detokenize"}).code, kExitUsage);
  EXPECT_EQ(Run({"--call", "answer", "--ids"}).code, kExitUsage);
  EXPECT_EQ(Run({"--call", "score", "--ids"}).code, kExitUsage);
}

TEST_F(LoadCommandTest, ScoresWhatFollowsATab) {
  std::ofstream(file_) << "ab\tcde\n";
  const CommandRun run = Run({"--call", "score", "--count", "1"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_EQ(server_.last_score.inputs(0).ShortDebugString(),
            "text: \"ab\" target: \"cde\"");
}

// A text that fails in a stream that goes on is a failure.
TEST_F(LoadCommandTest, AStreamsBadTextIsAFailure) {
  std::ofstream(file_) << "bad\n";
  const CommandRun run = Run({"--call", "translate-stream", "--count", "2"});
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_THAT(run.out, HasSubstr("INVALID_ARGUMENT 2"));
}

TEST_F(LoadCommandTest, LinesCanBeTokenIds) {
  std::ofstream(file_) << "17 4 0\n";
  CommandRun run = Run({"--ids", "--count", "1", "--concurrency", "1"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_EQ(server_.last_translate.inputs(0).ShortDebugString(),
            "ids { ids: 17 ids: 4 ids: 0 }");
  for (const char* bad : {"17 x\n", "\n", "4294967296\n"}) {
    std::ofstream(file_) << "5\n" << bad;
    run = Run({"--ids"});
    EXPECT_EQ(run.code, kExitIo);
    EXPECT_THAT(run.err, HasSubstr("line 2 of " + file_ + " is not token ids"));
  }
}

TEST_F(LoadCommandTest, FailuresAreReported) {
  server_.refusal = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full");
  const CommandRun run = Run({"--count", "3"});
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_THAT(run.out, HasSubstr("RESOURCE_EXHAUSTED"));
  EXPECT_THAT(run.out, HasSubstr("first error  full [request r-17]"));
}

TEST_F(LoadCommandTest, WrongUsageIsSaid) {
  EXPECT_EQ(Run({"--metadata", "X-Key=a"}).code, kExitUsage);
  EXPECT_EQ(Run({"--metadata", "x-key"}).code, kExitUsage);
  EXPECT_EQ(Run({"--rate", "-1"}).code, kExitUsage);
  EXPECT_EQ(Run({"--concurrency", "0"}).code, kExitUsage);
  EXPECT_EQ(Run({"--call", "fly"}).code, kExitUsage);
  EXPECT_EQ(Run({"--timeout", "0"}).code, kExitUsage);
  std::ofstream(file_, std::ios::trunc).close();
  EXPECT_EQ(Run({}).code, kExitIo);
}

}  // namespace
}  // namespace trivium
