#include "client/load/command.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "nlohmann/json.hpp"
#include "tests/client/fake_server.h"
#include "tests/client/page_data.h"
#include "tests/client/run_command.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using ::testing::HasSubstr;

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

TEST_F(LoadCommandTest, MakesTheRequestedNumberOfCalls) {
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

// The variable is for trivium, too, which speaks gRPC only.
TEST_F(LoadCommandTest, HttpNamesTheServerWhateverTheEnvironmentSays) {
  setenv("TRIVIUM_ADDRESS", "localhost:1", 1);
  const std::atomic<bool> stop{false};
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--file", file_, "--count", "1"});
    return RunWithFiles(
        [&](const Io& io) { return RunTriviumLoad(arguments, io, stop); });
  };
  EXPECT_NE(run({"--http", "http://127.0.0.1:1"}).code, kExitUsage);
  EXPECT_EQ(
      run({"--http", "http://127.0.0.1:1", "--address", "localhost:1"}).code,
      kExitUsage);
  unsetenv("TRIVIUM_ADDRESS");
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
  // Two pieces in each text make one gap.
  EXPECT_EQ(json["piece_gap_seconds"]["count"],
            json["first_piece_seconds"]["count"]);
  EXPECT_TRUE(server_.last_generate.tokens());
}

TEST_F(LoadCommandTest, MakesCallsWithoutModelWork) {
  const CommandRun run = Run({"--call", "model", "--count", "5", "--json"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["succeeded"], 5);
  EXPECT_EQ(json["outside_model_seconds"]["count"], 5);
  EXPECT_EQ(server_.translate_calls, 0);
}

TEST_F(LoadCommandTest, MakesEveryKindOfCall) {
  int made = 0;
  for (const char* call :
       {"translate", "translate-stream", "encode", "generate", "score",
        "classify", "rerank", "similarity", "tag", "answer", "fill-mask",
        "tokenize", "model"}) {
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
  // The fake does not implement these, but the calls reach it.
  for (const char* call : {"encode-stream", "detokenize"}) {
    ++made;
    std::ofstream(file_) << "17 4\n";
    const CommandRun run = Run({"--call", call, "--ids", "--count", "2"});
    EXPECT_EQ(run.code, kExitFailed);
    EXPECT_THAT(run.out, HasSubstr("UNIMPLEMENTED 2")) << run.out;
  }
  // All calls of Inference but TranslateDocument, and one of Models; OpenAI's
  // needs HTTP.
  EXPECT_EQ(made, google::protobuf::DescriptorPool::generated_pool()
                      ->FindServiceByName("trivium.v1.Inference")
                      ->method_count());
  EXPECT_EQ(Run({"--call", "detokenize"}).code, kExitUsage);
  EXPECT_EQ(Run({"--call", "answer", "--ids"}).code, kExitUsage);
  EXPECT_EQ(Run({"--call", "score", "--ids"}).code, kExitUsage);
}

TEST_F(LoadCommandTest, ScoresTheTextAfterATab) {
  std::ofstream(file_) << "ab\tcde\n";
  const CommandRun run = Run({"--call", "score", "--count", "1"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_EQ(server_.last_score.inputs(0).ShortDebugString(),
            "text: \"ab\" target: \"cde\"");
}

// A call counts as failed if a text fails, even if its stream continues.
TEST_F(LoadCommandTest, CountsAStreamWithABadTextAsFailed) {
  std::ofstream(file_) << "bad\n";
  const CommandRun run = Run({"--call", "translate-stream", "--count", "2"});
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_THAT(run.out, HasSubstr("INVALID_ARGUMENT 2"));
}

TEST_F(LoadCommandTest, ReadsLinesAsTokenIds) {
  std::ofstream(file_) << "17 4 0\n";
  CommandRun run = Run({"--ids", "--count", "1", "--concurrency", "1"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_EQ(server_.last_translate.inputs(0).ShortDebugString(),
            "ids { ids: 17 ids: 4 ids: 0 }");
  for (const char* bad : {"17 x\n", "\n", "4294967296\n"}) {
    std::ofstream(file_) << "5\n" << bad;
    run = Run({"--ids"});
    EXPECT_EQ(run.code, kExitIo);
    EXPECT_THAT(run.err, ErrorAt("line 2"));
  }
}

TEST_F(LoadCommandTest, ReportsFailures) {
  server_.refusal = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full");
  const CommandRun run = Run({"--count", "3"});
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_THAT(run.out, HasSubstr("RESOURCE_EXHAUSTED"));
  EXPECT_THAT(run.out, HasSubstr("first error  full [request r-17]"));
}

TEST_F(LoadCommandTest, ReportsEachCallOfAMix) {
  const CommandRun run = Run({"--mix", "translate=3,encode=1", "--count", "60",
                              "--lengths", "2-3", "--json"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["succeeded"], 60);
  const int translated = json["calls"]["translate"]["succeeded"];
  const int encoded = json["calls"]["encode"]["succeeded"];
  EXPECT_EQ(translated, server_.translate_calls);
  EXPECT_EQ(encoded, server_.encode_calls);
  EXPECT_GT(translated, encoded);
  EXPECT_GT(encoded, 0);
  // Words of "one", "two" and "three", beginning again after the last.
  EXPECT_THAT(server_.last_encode.inputs(0).text(),
              testing::MatchesRegex("[a-z]+ [a-z]+( [a-z]+)?"));
}

TEST_F(LoadCommandTest, PacesRampsAndBursts) {
  CommandRun run = Run({"--ramp", "100:300:0.2", "--json"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  // The time of the ramp is measured.
  EXPECT_NEAR(nlohmann::json::parse(run.out)["seconds"], 0.2, 0.1);
  run = Run({"--burst", "7:3600", "--count", "7", "--json"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["succeeded"], 7);
}

TEST_F(LoadCommandTest, DoesNotCountAbortedCallsAsFailures) {
  server_.hang = true;
  for (const char* call : {"encode", "generate", "translate-stream"}) {
    const CommandRun run = Run({"--call", call, "--count", "4", "--concurrency",
                                "2", "--abort-share", "1", "--json"});
    EXPECT_EQ(run.code, kExitFailed);  // none succeeded
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["aborted"], 4) << call << run.out;
    EXPECT_EQ(json["failed"], 0);
  }
}

// With a limit of an hour every rate passes until calls fail, so the search
// goes up to that rate.
TEST_F(LoadCommandTest, FindsTheHighestRate) {
  server_.calls_left = 300;
  const CommandRun run =
      Run({"--find-rate", "--p99", "1h", "--rate", "200", "--duration", "0.2",
           "--tolerance", "1", "--json"});
  EXPECT_EQ(run.code, kExitOk) << run.err << run.out;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["p99_limit_seconds"], 3600);
  const auto& points = json["points"];
  ASSERT_GE(points.size(), 3u);
  double highest = 0;
  for (const auto& point : points) {
    const bool passes = point["failed"] == 0 && point["succeeded"] > 0;
    EXPECT_EQ(point["passed"], passes) << point;
    if (passes) highest = std::max(highest, point["rate"].get<double>());
  }
  EXPECT_EQ(json["highest_rate"], highest);
  EXPECT_GT(points.back()["rate"], highest);
  EXPECT_EQ(points.back()["passed"], false);
}

TEST_F(LoadCommandTest, FindsNoRateIfNonePasses) {
  server_.refusal = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full");
  const CommandRun run =
      Run({"--find-rate", "--p99", "1s", "--duration", "0.05"});
  EXPECT_EQ(run.code, kExitFailed);
  // There is no rate to begin at.
  EXPECT_THAT(run.out, HasSubstr("first error  full"));
}

TEST_F(LoadCommandTest, ComparesTwoServersInTurns) {
  FakeServer other;
  CommandRun run = Run({"--against", other.address(), "--rounds", "3",
                        "--count", "8", "--json"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  EXPECT_EQ(server_.translate_calls, 24);
  EXPECT_EQ(other.translate_calls, 24);
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["first"], server_.address());
  EXPECT_EQ(json["second"], other.address());
  ASSERT_EQ(json["rounds"].size(), 3u);
  const auto& ratio = json["ratios"]["requests/s"];
  for (int i = 0; i < 3; ++i) {
    const auto& round = json["rounds"][i];
    EXPECT_NEAR(ratio["rounds"][i].get<double>(),
                round["first"]["requests_per_second"].get<double>() /
                    round["second"]["requests_per_second"].get<double>(),
                1e-9);
  }
  EXPECT_LE(ratio["lowest"], ratio["median"]);
  EXPECT_LE(ratio["median"], ratio["highest"]);
  run = Run({"--against", other.address(), "--rounds", "1", "--count", "2"});
  EXPECT_THAT(run.out, HasSubstr("p99"));
  EXPECT_THAT(run.out, HasSubstr("round 1  " + server_.address()));
}

TEST_F(LoadCommandTest, WritesAPage) {
  const std::string path = testing::TempDir() + "/load_test.html";
  FakeServer other;
  CommandRun run = Run({"--html", path, "--count", "3", "--json"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  const auto page = [&] {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return PageData(text.str());
  };
  nlohmann::json data = page();
  ASSERT_EQ(data["runs"].size(), 1u);
  EXPECT_EQ(data["servers"][0], server_.address());
  EXPECT_EQ(data["setup"][0][1], "translate");
  EXPECT_EQ(data["runs"][0]["report"], nlohmann::json::parse(run.out));
  run = Run({"--html", path, "--count", "3", "--against", other.address(),
             "--rounds", "2"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  data = page();
  EXPECT_EQ(data["runs"].size(), 4u);
  EXPECT_EQ(data["comparison"]["ratios"][0]["rounds"].size(), 2u);
  server_.calls_left = 20;
  run = Run({"--html", path, "--find-rate", "--p99", "1h", "--rate", "50",
             "--duration", "0.05", "--tolerance", "1"});
  data = page();
  EXPECT_EQ(data["runs"].size(), data["search"]["points"].size());
  run = Run({"--html", "/nowhere/page.html", "--count", "1"});
  EXPECT_EQ(run.code, kExitIo);
  EXPECT_THAT(run.err, ErrorAt("/nowhere/page.html"));
}

TEST_F(LoadCommandTest, RefusesFlagsThatWouldBeIgnored) {
  const auto why = [&](std::vector<std::string> arguments) {
    const CommandRun run = Run(std::move(arguments));
    EXPECT_EQ(run.code, kExitUsage) << run.out;
    return run.err;
  };
  EXPECT_THAT(why({"--rate", "5", "--concurrency", "2"}),
              ErrorAt("--concurrency"));
  EXPECT_THAT(why({"--rate", "5", "--ramp", "1:2:3"}), ErrorAt("--ramp"));
  EXPECT_THAT(why({"--burst", "5:1", "--concurrency", "2"}),
              ErrorAt("--concurrency"));
  EXPECT_THAT(why({"--ramp", "1:2:3", "--count", "2"}), ErrorAt("--ramp"));
  EXPECT_THAT(why({"--ramp", "1:2:3", "--duration", "2"}),
              ErrorAt("--duration"));
  EXPECT_THAT(why({"--count", "3", "--duration", "2"}), ErrorAt("--count"));
  EXPECT_THAT(why({"--max-in-flight", "3"}), ErrorAt("--max-in-flight"));
  EXPECT_THAT(why({"--schedule-seed", "3"}), ErrorAt("--schedule-seed"));
  EXPECT_THAT(why({"--mix", "encode=1", "--call", "encode"}), ErrorAt("--mix"));
  EXPECT_THAT(why({"--p99", "1s"}), ErrorAt("--find-rate"));
  EXPECT_THAT(why({"--find-rate"}), ErrorAt("--p99"));
  EXPECT_THAT(why({"--tolerance", "0.1"}), ErrorAt("--find-rate"));
  EXPECT_THAT(why({"--rounds", "2"}), ErrorAt("--against"));
  EXPECT_THAT(why({"--find-rate", "--p99", "1s", "--against", "a:1"}),
              ErrorAt("--against"));
  EXPECT_THAT(why({"--call", "score", "--lengths", "3"}), ErrorAt("--lengths"));
  EXPECT_THAT(why({"--call", "openai-embeddings"}), ErrorAt("--http"));
}

TEST_F(LoadCommandTest, ExplainsWrongUsage) {
  EXPECT_EQ(Run({"--metadata", "X-Key=a"}).code, kExitUsage);
  EXPECT_EQ(Run({"--metadata", "x-key"}).code, kExitUsage);
  EXPECT_EQ(Run({"--rate", "-1"}).code, kExitUsage);
  EXPECT_EQ(Run({"--concurrency", "0"}).code, kExitUsage);
  EXPECT_EQ(Run({"--call", "fly"}).code, kExitUsage);
  EXPECT_EQ(Run({"--timeout", "0"}).code, kExitUsage);
  const auto why = [&](std::vector<std::string> arguments) {
    const CommandRun run = Run(std::move(arguments));
    EXPECT_EQ(run.code, kExitUsage) << run.out;
    return run.err;
  };
  EXPECT_THAT(why({"--mix", "fly=1"}), ErrorAt("'fly'"));
  EXPECT_THAT(why({"--lengths", "9-1"}), ErrorAt("9-1"));
  for (const char* bad : {"1:2", "1:2:0", "0:0:5", "1:x:3", "-1:2:3"}) {
    EXPECT_THAT(why({std::string("--ramp=") + bad}), ErrorAt(bad));
  }
  for (const char* bad : {"5", "0:1", "1.5:1", "5:0", "5:-1"}) {
    EXPECT_THAT(why({std::string("--burst=") + bad}), ErrorAt(bad));
  }
  EXPECT_THAT(why({"--find-rate", "--p99", "5"}), ErrorAt("--p99"));
  EXPECT_EQ(Run({"--abort-share", "1.5"}).code, kExitUsage);
  std::ofstream(file_, std::ios::trunc).close();
  EXPECT_EQ(Run({}).code, kExitIo);
}

}  // namespace
}  // namespace trivium
