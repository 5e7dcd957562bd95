// Tests the programs as processes: draining, metrics, command lines.

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "nlohmann/json.hpp"
#include "tests/integration/server_process.h"
#include "tests/support/http_get.h"

namespace trivium {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(DrainTest, FinishesRunningCallsAfterSigterm) {
  ServerProcess server;
  const auto client = server.NewClient();
  v1::GenerateRequest request;
  request.mutable_input()->set_text("The weather is very nice today.");
  request.mutable_decoding()->set_beam_size(1);
  request.mutable_decoding()->set_min_new_tokens(60);
  request.mutable_decoding()->set_max_new_tokens(60);
  bool terminated = false, done = false;
  const absl::Status status =
      client->Generate(request, [&](const v1::GenerateResponse& response) {
        if (!terminated) server.Signal(SIGTERM);
        terminated = true;
        done = response.has_done();
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(done);
  EXPECT_EQ(server.Wait(), 0);
  v1::TranslateRequest late;
  late.add_inputs()->set_text("Too late.");
  EXPECT_EQ(client->Translate(late).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(DrainTest, ReportsNotServingWhileItDrains) {
  ServerProcess server({"--drain-delay", "30"});
  const auto client = server.NewClient();
  grpc::health::v1::HealthCheckRequest request;
  // Watch reports the change when it happens.
  const auto stub = grpc::health::v1::Health::NewStub(grpc::CreateChannel(
      server.address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(60));
  const auto watch = stub->Watch(&context, request);
  grpc::health::v1::HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING);
  server.Signal(SIGTERM);
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(),
            grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  context.TryCancel();
}

// What a terminal shows up to its line `last`.
std::string ShownUntil(int terminal, const std::string& last) {
  std::string shown;
  char buffer[4096];
  constexpr int kMostWait = 30'000;  // milliseconds
  pollfd readable = {terminal, POLLIN, 0};
  while (poll(&readable, 1, kMostWait) > 0) {
    const ssize_t size = read(terminal, buffer, sizeof(buffer));
    if (size <= 0) break;
    shown.append(buffer, static_cast<size_t>(size));
    const size_t at = shown.find(last);
    if (at != shown.npos && shown.find('\n', at) != shown.npos) break;
  }
  return shown;
}

TEST(FirstScreenTest, ATerminalIsToldWhatIsServedWhereAndWhatToDoNext) {
  int terminal = -1, end = -1;
  ASSERT_EQ(openpty(&terminal, &end, nullptr, nullptr, nullptr), 0);
  for (const bool page : {true, false}) {
    std::vector<std::string> flags = {"--http-listen", "127.0.0.1:0"};
    if (!page) flags.push_back("--no-page");
    ServerProcess server(flags, end);
    const std::string shown = ShownUntil(terminal, "Next:");
    EXPECT_THAT(shown, HasSubstr("models   en-de\r\n"));
    EXPECT_THAT(shown, HasSubstr("gRPC     " + server.address() + "\r\n"));
    const std::string line =
        "page     http://127.0.0.1:" + std::to_string(server.http_port()) +
        "/\r\n";
    EXPECT_EQ(shown.find(line) != shown.npos, page) << shown;
    // The command that it shows is one that works.
    EXPECT_THAT(shown, HasSubstr("Next:      trivium models --address " +
                                 server.address() + "\r\n"));
    EXPECT_EQ(
        RunProgram({TRIVIUM_PROGRAM, "models", "--address", server.address()})
            .exit_code,
        0);
  }
  close(end);
  close(terminal);
}

TEST(MetricsTest, AreAcceptedByPrometheus) {
  ServerProcess server;
  const auto client = server.NewClient();
  v1::TranslateRequest request;
  request.add_inputs()->set_text("Hello.");
  ASSERT_TRUE(client->Translate(request).ok());
  request.set_model("no-such-model");
  EXPECT_FALSE(client->Translate(request).ok());

  const HttpResult answer = HttpGet(server.metrics_port(), "/metrics");
  ASSERT_EQ(answer.status, 200);
  const std::string& body = answer.body;
  EXPECT_THAT(body, HasSubstr("trivium_requests_total{"));
  EXPECT_THAT(body, HasSubstr("NOT_FOUND"));
  EXPECT_THAT(body, HasSubstr("trivium_batch_invariant"));
  const ProcessResult check =
      RunProgram({"promtool", "check", "metrics"}, body);
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
  EXPECT_EQ(HttpGet(server.metrics_port(), "/healthz").status, 200);
  EXPECT_EQ(HttpGet(server.metrics_port(), "/readyz").status, 200);
  EXPECT_EQ(HttpGet(server.metrics_port(), "/fly").status, 404);
}

class ProgramsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new ServerProcess(); }
  static void TearDownTestSuite() { delete server_; }

  ProcessResult Trivium(std::vector<std::string> arguments,
                        const std::string& input = "") {
    arguments.insert(arguments.begin(), TRIVIUM_PROGRAM);
    arguments.insert(arguments.begin() + 2, {"--address", server_->address()});
    return RunProgram(arguments, input);
  }

  static ServerProcess* server_;
};

ServerProcess* ProgramsTest::server_ = nullptr;

TEST_F(ProgramsTest, AnswerEveryCommand) {
  const ProcessResult translated = Trivium({"translate", "I ate an apple."});
  EXPECT_EQ(translated.exit_code, 0) << translated.err;
  EXPECT_THAT(translated.out, HasSubstr("Apfel"));
  EXPECT_EQ(Trivium({"health"}).out, "SERVING\n");
  EXPECT_THAT(Trivium({"models"}).out,
              HasSubstr("\nen-de\tmarian\tencoder_decoder\t"));
  EXPECT_THAT(Trivium({"models"}).out, HasSubstr("\tde,en\tde,en\tde\t"));
  EXPECT_THAT(Trivium({"tokens", "An apple."}).out, HasSubstr(":"));
  EXPECT_THAT(Trivium({"encode", "An apple."}).out, HasSubstr(" "));
  const ProcessResult generated =
      Trivium({"generate", "--beam-size", "1", "I ate an apple."});
  EXPECT_EQ(generated.exit_code, 0) << generated.err;
  EXPECT_THAT(generated.out, HasSubstr("Apfel"));
}

TEST_F(ProgramsTest, KeepTheLinesOfAPipe) {
  const ProcessResult run =
      Trivium({"translate"}, "I ate an apple.\n\nThe house is big.\n");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, MatchesRegex(".*Apfel.*\n\n.*Haus.*\n"));
  EXPECT_EQ(run.err, "");
}

TEST_F(ProgramsTest, TranslateAFileOfManyLinesInOrder) {
  const std::string path = testing::TempDir() + "/many_lines.txt";
  std::ofstream file(path);
  for (int i = 0; i < 200; ++i) file << "Number " << i << "\n";
  file.close();
  const ProcessResult run =
      Trivium({"translate", "--json", "--beam-size", "1", "--file", path});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  std::istringstream lines(run.out);
  int expected = 0;
  for (std::string line; std::getline(lines, line); ++expected) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json.value("id", "0"), std::to_string(expected));
    EXPECT_TRUE(json["result"]["hypotheses"][0].contains("text"));
  }
  EXPECT_EQ(expected, 200);
}

TEST_F(ProgramsTest, EndWithDocumentedExitCodes) {
  EXPECT_EQ(Trivium({"translate", "--model", "fly", "a"}).exit_code, 1);
  EXPECT_EQ(Trivium({"translate", "--fly", "a"}).exit_code, 2);
  EXPECT_EQ(RunProgram({TRIVIUM_PROGRAM, "health", "--address", "127.0.0.1:1"})
                .exit_code,
            3);
  EXPECT_EQ(Trivium({"translate", "--file", "/nonexistent"}).exit_code, 5);
}

TEST_F(ProgramsTest, ReportLoad) {
  const std::string path = testing::TempDir() + "/load.txt";
  std::ofstream(path) << "I ate an apple.\nThe house is big.\n";
  for (const char* call : {"translate", "encode", "generate"}) {
    const ProcessResult run =
        RunProgram({TRIVIUM_LOAD_PROGRAM, "--address", server_->address(),
                    "--file", path, "--call", call, "--count", "20",
                    "--warm-up", "0", "--concurrency", "8", "--json"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_GE(json["succeeded"], 20);
    EXPECT_EQ(json["failed"], 0);
    EXPECT_GT(json["source_tokens_per_second"], 0);
  }
}

// The container's health check must not depend on --listen.
TEST_F(ProgramsTest, FindThePortForTheContainersHealthCheck) {
  std::stringstream dockerfile;
  dockerfile << std::ifstream("Dockerfile").rdbuf();
  const std::string place = "/dev/shm/trivium.ports";
  EXPECT_THAT(dockerfile.str(), HasSubstr("ENV TRIVIUM_PORT_FILE=" + place));
  EXPECT_THAT(
      dockerfile.str(),
      HasSubstr("CMD [\"/usr/bin/trivium\", \"health\", \"--port-file\", \"" +
                place + "\"]"));
  const std::string ports = testing::TempDir() + "/container.ports";
  std::ofstream(ports) << server_->port_file();
  const ProcessResult run =
      RunProgram({TRIVIUM_PROGRAM, "health", "--port-file", ports});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "SERVING\n");
}

TEST(StartTest, WarnsInCheckOfAFolderWithoutTokenizer) {
  const ProcessResult run =
      RunProgram({TRIVIUM_SERVER_PROGRAM, "--check", "tests/golden/bert.base"});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("warning: "));
  EXPECT_THAT(run.out, HasSubstr("tokenizer"));
  const ProcessResult whole =
      RunProgram({TRIVIUM_SERVER_PROGRAM, "--check", TRIVIUM_EMBEDDED});
  EXPECT_EQ(whole.exit_code, 0) << whole.out << whole.err;
  EXPECT_THAT(whole.out, testing::Not(HasSubstr("warning: ")));
}

// Each call writes a line to the log, whose pipe is full or closed.
TEST(LogPipeTest, DoesNotDelayCallsIfNobodyReadsTheLog) {
  for (const bool closed : {false, true}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    {
      ServerProcess server({"--log-level", "debug", "--workers", "1"}, ends[1]);
      close(ends[1]);
      if (closed) close(ends[0]);
      const auto client = server.NewClient();
      // A pipe holds 64 KiB; a line has a few hundred bytes.
      for (int i = 0; i < 400; ++i) {
        ASSERT_TRUE(client->GetModel("").ok()) << i;
      }
      EXPECT_TRUE(server.running());
      server.Signal(SIGTERM);
      EXPECT_EQ(server.Wait(), 0);
    }
    if (!closed) close(ends[0]);
  }
}

TEST(StartTest, NamesAModelThatDoesNotExist) {
  const ProcessResult run = RunProgram(
      {TRIVIUM_SERVER_PROGRAM, "--listen", "127.0.0.1:0", "--metrics-listen",
       "127.0.0.1:0", "--model", "x=/nonexistent/folder"});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_LT(run.exit_code, 128);
  EXPECT_THAT(run.out + run.err, HasSubstr("/nonexistent/folder"));
}

}  // namespace
}  // namespace trivium
