// Tests of trivium-load over HTTP, against a server made for the test.
#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "client/load/command.h"
#include "client/load/connect_protocol.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/client/run_command.h"
#include "tests/support/error_texts.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ConnectProtocolTest, MakesPathsFromRequests) {
  EXPECT_EQ(ConnectPath(*v1::TranslateRequest::descriptor()),
            "/trivium.v1.Inference/Translate");
  EXPECT_EQ(ConnectPath(*v1::GetModelRequest::descriptor()),
            "/trivium.v1.Models/GetModel");
}

TEST(ConnectProtocolTest, ReadsCodesOfErrors) {
  grpc::Status status =
      ConnectError(429, R"({"code": "resource_exhausted", "message": "full"})");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "full");
  EXPECT_EQ(ConnectError(499, R"({"code": "canceled"})").error_code(),
            grpc::StatusCode::CANCELLED);
  // Errors of OpenAI's API, and of a proxy that knows neither.
  status = ConnectError(
      404, R"({"error": {"message": "no model", "code": "model_not_found"}})");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no model");
  status = ConnectError(503, "<html>");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), ErrorAt("503"));
}

TEST(EnvelopeReaderTest, ReadsMessagesFromAnyPieces) {
  std::string end = Envelope("{}");
  end[0] = 2;
  const std::string stream =
      Envelope("one") + Envelope("") + Envelope("2") + end;
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    EnvelopeReader reader;
    std::vector<std::string> messages;
    for (size_t i = 0; i < stream.size(); i += piece) {
      EXPECT_FALSE(reader.status().ok());
      reader.Add(std::string_view(stream).substr(i, piece),
                 [&](const std::string& one) { messages.push_back(one); });
    }
    EXPECT_THAT(messages, ElementsAre("one", "", "2"));
    EXPECT_TRUE(reader.status().ok());
  }
}

TEST(EnvelopeReaderTest, ReportsTheErrorAtTheEndOfAStream) {
  std::string end =
      Envelope(R"({"error": {"code": "internal", "message": "broken"}})");
  end[0] = 2;
  EnvelopeReader reader;
  reader.Add(end, [](const std::string&) { FAIL(); });
  EXPECT_EQ(reader.status().error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(reader.status().error_message(), "broken");
}

// A server that answers every POST in the same way and records the requests.
class HttpLoadTest : public testing::Test {
 protected:
  HttpLoadTest() {
    std::ofstream(file_) << "one\ntwo\n";
    server_.Post(".*", [this](const httplib::Request& request,
                              httplib::Response& response) {
      {
        MutexLock lock(&mutex_);
        last_ = request;
      }
      while (hold_) std::this_thread::yield();
      response.status = status_;
      response.set_content(answer_, "application/json");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  ~HttpLoadTest() override {
    hold_ = false;
    // Waits until it runs, since stop() has no effect before.
    while (!server_.is_running()) std::this_thread::yield();
    server_.stop();
    thread_.join();
  }

  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port_);
  }
  CommandRun Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--http", url(), "--file", file_, "--warm-up", "0"});
    const std::atomic<bool> stop{false};
    return RunWithFiles(
        [&](const Io& io) { return RunTriviumLoad(arguments, io, stop); });
  }

  const std::string file_ = testing::TempDir() + "/http_load_test.txt";
  int status_ = 200;
  std::string answer_ = "{}";
  std::atomic<bool> hold_{false};
  Mutex mutex_;
  httplib::Request last_;

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

TEST_F(HttpLoadTest, SpeaksConnectsJson) {
  answer_ = R"({"results": [{"sourceTokenCount": 3, "unheardOf": 1,
                "hypotheses": [{"text": "x", "tokenCount": 4}]}],
                "timings": {"inference": "0.000001s"}})";
  const CommandRun run =
      Run({"--count", "20", "--concurrency", "4", "--json", "--beam-size", "2",
           "--metadata", "x-key=value", "--priority", "batch"});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  const json report = json::parse(run.out);
  EXPECT_EQ(report["succeeded"], 20) << run.out;
  EXPECT_GT(report["new_tokens_per_second"], 0);
  EXPECT_EQ(last_.path, "/trivium.v1.Inference/Translate");
  EXPECT_EQ(last_.get_header_value("Content-Type"), "application/json");
  EXPECT_EQ(last_.get_header_value("x-key"), "value");
  EXPECT_EQ(last_.get_header_value("trivium-priority"), "batch");
  EXPECT_EQ(last_.get_header_value("Connect-Timeout-Ms"), "60000");
  const json body = json::parse(last_.body);
  EXPECT_EQ(body["options"]["decoding"]["beamSize"], 2);
}

TEST_F(HttpLoadTest, CallsOpenAisEmbeddings) {
  answer_ = R"({"data": [], "usage": {"prompt_tokens": 7}})";
  const CommandRun run =
      Run({"--call", "openai-embeddings", "--inputs-per-call", "2", "--count",
           "1", "--concurrency", "1", "--model", "m", "--json"});
  EXPECT_EQ(run.code, kExitOk) << run.err << run.out;
  EXPECT_GT(json::parse(run.out)["source_tokens_per_second"], 0);
  EXPECT_EQ(last_.path, "/v1/embeddings");
  EXPECT_EQ(json::parse(last_.body),
            json::parse(R"({"input": ["one", "two"], "model": "m"})"));
}

TEST_F(HttpLoadTest, TimesStreamedPieces) {
  std::string end = Envelope("{}");
  end[0] = 2;
  answer_ = Envelope(R"({"piece": {"text": "a"}})") +
            Envelope(R"({"piece": {"text": "b"}})") +
            Envelope(R"({"done": {"tokenCount": 2}})") + end;
  const CommandRun run = Run({"--call", "generate", "--count", "2", "--json"});
  EXPECT_EQ(run.code, kExitOk) << run.err << run.out;
  const json report = json::parse(run.out);
  EXPECT_EQ(report["first_piece_seconds"]["count"], 2);
  EXPECT_EQ(report["piece_gap_seconds"]["count"], 2);
  EXPECT_EQ(last_.get_header_value("Content-Type"), "application/connect+json");
  EXPECT_EQ(json::parse(last_.body.substr(5))["tokens"], true);
}

TEST_F(HttpLoadTest, ReportsFailures) {
  status_ = 429;
  answer_ = R"({"code": "resource_exhausted", "message": "full"})";
  CommandRun run = Run({"--count", "3"});
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_THAT(run.out, HasSubstr("RESOURCE_EXHAUSTED 3"));
  EXPECT_THAT(run.out, HasSubstr("first error  full"));
  status_ = 200;
  answer_ = "<html>";
  run = Run({"--count", "1"});
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_THAT(run.out, HasSubstr("INTERNAL 1"));
}

TEST_F(HttpLoadTest, EndsAbortedCalls) {
  hold_ = true;
  const CommandRun run = Run(
      {"--count", "4", "--concurrency", "4", "--abort-share", "1", "--json"});
  hold_ = false;
  const json report = json::parse(run.out);
  EXPECT_EQ(report["aborted"], 4) << run.out;
  EXPECT_EQ(report["failed"], 0);
  EXPECT_EQ(run.code, kExitFailed);  // none succeeded
}

TEST_F(HttpLoadTest, RefusesCallsThatHttpLacks) {
  const auto why = [&](std::vector<std::string> arguments) {
    const CommandRun run = Run(std::move(arguments));
    EXPECT_EQ(run.code, kExitUsage) << run.out;
    return run.err;
  };
  EXPECT_THAT(why({"--call", "encode-stream"}), ErrorAt("encode-stream"));
  EXPECT_THAT(why({"--connections", "2"}), ErrorAt("--http"));
  EXPECT_THAT(why({"--address", "127.0.0.1:1"}), ErrorAt("--http"));
  EXPECT_THAT(why({"--tls"}), ErrorAt("--tls"));
  EXPECT_THAT(why({"--against", "https://127.0.0.1:1"}),
              ErrorAt("https://127.0.0.1:1"));
  EXPECT_THAT(why({"--against", "http://127.0.0.1:1/path"}),
              ErrorAt("http://127.0.0.1:1/path"));
}

TEST_F(HttpLoadTest, ReportsUnavailableIfNobodyListens) {
  // A port that is bound but not listened on.
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size),
            0);
  const std::string nobody =
      "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  const std::atomic<bool> stop{false};
  const CommandRun run = RunWithFiles([&](const Io& io) {
    return RunTriviumLoad(
        {"--http", nobody, "--file", file_, "--count", "1", "--warm-up", "0"},
        io, stop);
  });
  close(taken);
  EXPECT_EQ(run.code, kExitFailed);
  EXPECT_THAT(run.out, HasSubstr("UNAVAILABLE 1"));
}

}  // namespace
}  // namespace trivium
