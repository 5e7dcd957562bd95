// Tests trivium-load as a process, against a real server over gRPC and HTTP.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/client/page_data.h"
#include "tests/integration/server_process.h"

namespace trivium {
namespace {

using nlohmann::json;

class LoadTest : public testing::Test {
 protected:
  LoadTest() {
    std::ofstream(file_) << "The house is big.\nI ate an apple.\n"
                            "We went home because it rained.\n";
  }

  std::string http() const {
    return "http://127.0.0.1:" + std::to_string(server_.http_port());
  }
  // Returns the report of a run, which must succeed.
  json Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TRIVIUM_LOAD_PROGRAM);
    arguments.insert(arguments.end(),
                     {"--file", file_, "--warm-up", "0", "--json"});
    const ProcessResult result = RunProgram(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
    json report = json::parse(result.out, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(report.is_object()) << result.out;
    return report;
  }

  const std::string file_ = testing::TempDir() + "/load_test.txt";
  ServerProcess server_{{"--http-listen", "127.0.0.1:0"}};
};

TEST_F(LoadTest, MixesCallsOverEitherTransport) {
  for (const std::vector<std::string>& where :
       {std::vector<std::string>{"--address", server_.address()},
        std::vector<std::string>{"--http", http()}}) {
    std::vector<std::string> arguments = {
        "--mix", "translate=4,generate=2,encode=2,tokenize=1,model=1",
        "--count", "60", "--lengths", "1-12", "--inputs-per-call", "2",
        "--concurrency", "4",
        // A sanitized server is slow, and refuses what it could not do in time.
        "--timeout", "900"};
    arguments.insert(arguments.end(), where.begin(), where.end());
    const json report = Run(arguments);
    EXPECT_EQ(report["succeeded"], 60) << report;
    EXPECT_EQ(report["failed"], 0) << report;
    EXPECT_EQ(report["calls"].size(), 5u);
    EXPECT_GT(report["texts_per_second"], report["requests_per_second"]);
    EXPECT_GT(report["source_tokens_per_second"], 0);
    EXPECT_GT(report["new_tokens_per_second"], 0);
    const json& generate = report["calls"]["generate"];
    EXPECT_EQ(generate["first_piece_seconds"]["count"], generate["succeeded"]);
  }
}

TEST_F(LoadTest, CallsOpenAisEmbeddings) {
  const json report = Run({"--http", http(), "--call", "openai-embeddings",
                           "--count", "20", "--inputs-per-call", "3"});
  EXPECT_EQ(report["succeeded"], 20) << report;
  EXPECT_GT(report["source_tokens_per_second"], 0);
}

// Both transports count the same tokens of the same calls.
TEST_F(LoadTest, ComparesGrpcWithHttpAndWritesAPage) {
  const std::string path = testing::TempDir() + "/load_test.html";
  const json report =
      Run({"--address", server_.address(), "--against", http(), "--rounds", "2",
           "--count", "20", "--concurrency", "2", "--html", path});
  ASSERT_EQ(report["rounds"].size(), 2u) << report;
  for (const json& round : report["rounds"]) {
    const auto tokens = [](const json& one) {
      return one["new_tokens_per_second"].get<double>() *
             one["seconds"].get<double>();
    };
    EXPECT_EQ(round["first"]["succeeded"], 20);
    EXPECT_EQ(round["second"]["succeeded"], 20);
    EXPECT_GT(tokens(round["first"]), 0);
    EXPECT_NEAR(tokens(round["first"]), tokens(round["second"]), 1e-3);
  }
  EXPECT_TRUE(report["ratios"].contains("p99"));
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  const json data = PageData(page.str());
  EXPECT_EQ(data["runs"].size(), 4u);
}

// The server notices the aborts and continues to serve others.
TEST_F(LoadTest, DoesNotCountAbortedCallsAsFailures) {
  for (const std::vector<std::string>& where :
       {std::vector<std::string>{"--address", server_.address()},
        std::vector<std::string>{"--http", http()}}) {
    std::vector<std::string> arguments = {
        "--count",          "24",  "--concurrency",    "4",
        "--abort-share",    "0.5", "--min-new-tokens", "100",
        "--max-new-tokens", "100", "--timeout",        "600"};
    arguments.insert(arguments.end(), where.begin(), where.end());
    const json report = Run(arguments);
    const int aborted = report["aborted"], succeeded = report["succeeded"];
    EXPECT_EQ(report["failed"], 0) << report;
    EXPECT_EQ(aborted + succeeded, 24);
    EXPECT_GT(aborted, 0);
    EXPECT_GT(succeeded, 0);
  }
}

TEST_F(LoadTest, FindsNoRateForAnImpossibleLimit) {
  const ProcessResult result =
      RunProgram({TRIVIUM_LOAD_PROGRAM, "--address", server_.address(),
                  "--file", file_, "--find-rate", "--p99", "1us", "--rate",
                  "200", "--warm-up", "0", "--duration", "0.05", "--json"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["highest_rate"], 0);
  for (const json& point : report["points"]) EXPECT_FALSE(point["passed"]);
}

}  // namespace
}  // namespace trivium
