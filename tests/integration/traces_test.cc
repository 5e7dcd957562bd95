// Tests the spans of real calls, as a collector receives them.

#include <grpcpp/create_channel.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "tests/integration/chat_folder.h"
#include "tests/integration/folder_server.h"
#include "tests/support/http_get.h"
#include "tests/support/trace_collector.h"

namespace trivium {
namespace {

using opentelemetry::Span;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr char kSpanId[] = "b7ad6b7169203331";

// Returns the trace id of a number below 10.
std::string TraceId(int number) {
  return std::string(31, 'a') + std::to_string(number);
}
std::string Traceparent(int number, bool sampled = true) {
  return "00-" + TraceId(number) + "-" + kSpanId + (sampled ? "-01" : "-00");
}

std::vector<std::string> NamesOf(const std::vector<Span>& spans) {
  std::vector<std::string> names;
  for (const Span& span : spans) names.push_back(span.name());
  return names;
}

class TracesTest : public testing::Test {
 protected:
  TracesTest()
      : server_("traces_test", [this](const std::filesystem::path& folder) {
          MakeChatFolder(folder / "chat");
          return std::vector<std::string>{"--model",
                                          (folder / "chat").string(),
                                          "--http-listen",
                                          "127.0.0.1:0",
                                          "--audit-log",
                                          (folder / "audit").string(),
                                          "--trace-endpoint",
                                          collector_.url(),
                                          "--trace-sample-rate",
                                          "0"};
        }) {}

  // Makes a gRPC call; an empty traceparent is not sent.
  void Translate(const std::string& text, const std::string& traceparent,
                 const std::string& model = "en-de") {
    const auto stub = v1::Inference::NewStub(grpc::CreateChannel(
        server_->address(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(60));
    if (!traceparent.empty()) {
      context.AddMetadata("traceparent", traceparent);
      context.AddMetadata("tracestate", "rojo=1");
      context.AddMetadata("tracestate", "congo=2");
    }
    v1::TranslateRequest request;
    request.set_model(model);
    request.add_inputs()->set_text(text);
    v1::TranslateResponse response;
    EXPECT_EQ(stub->Translate(&context, request, &response).ok(),
              model == "en-de");
  }
  // Waits for this number of spans of a trace and returns them, the call's
  // first.
  std::vector<Span> WaitForTrace(int number, size_t count) {
    std::vector<Span> its;
    for (size_t all = count; its.size() < count; ++all) {
      its.clear();
      for (const Span& span : collector_.WaitForSpans(all)) {
        if (span.trace_id() == absl::HexStringToBytes(TraceId(number))) {
          its.push_back(span);
        }
      }
    }
    return its;
  }
  static void ExpectWithinTheCall(const std::vector<Span>& spans) {
    EXPECT_EQ(spans[0].parent_span_id(), absl::HexStringToBytes(kSpanId));
    for (const Span& span : spans) {
      EXPECT_LE(span.start_time_unix_nano(), span.end_time_unix_nano());
      if (&span == &spans[0]) continue;
      EXPECT_EQ(span.parent_span_id(), spans[0].span_id());
      EXPECT_GE(span.start_time_unix_nano(), spans[0].start_time_unix_nano());
      EXPECT_LE(span.end_time_unix_nano(), spans[0].end_time_unix_nano());
    }
  }

  TraceCollector collector_;
  FolderServer server_;
};

TEST_F(TracesTest, JoinTheTracesOfCallers) {
  Translate("Of no trace.", "");
  Translate("Of one that nobody records.", Traceparent(1, /*sampled=*/false));
  Translate("I ate an apple.", Traceparent(2));
  std::vector<Span> spans = WaitForTrace(2, 5);
  EXPECT_EQ(collector_.WaitForSpans(5).size(), 5u) << "others have spans";
  EXPECT_THAT(NamesOf(spans),
              ElementsAre("trivium.v1.Inference/Translate", "tokenize", "queue",
                          "encode", "decode"));
  ExpectWithinTheCall(spans);
  EXPECT_EQ(spans[0].trace_state(), "rojo=1,congo=2");
  const std::vector<std::string> attributes =
      AttributesOf(spans[0].attributes());
  EXPECT_THAT(attributes, IsSupersetOf({"rpc.system.name=grpc",
                                        "rpc.response.status_code=OK",
                                        "gen_ai.request.model=en-de"}));
  EXPECT_THAT(attributes, Not(Contains("gen_ai.usage.input_tokens=0")));
  EXPECT_THAT(attributes, Not(Contains("gen_ai.usage.output_tokens=0")));
  EXPECT_THAT(collector_.last().SerializeAsString(), Not(HasSubstr("apple")));

  Translate("What is this?", Traceparent(3), "none-such");
  spans = WaitForTrace(3, 1);
  EXPECT_THAT(AttributesOf(spans[0].attributes()),
              Contains("rpc.response.status_code=NOT_FOUND"));

  // A call over HTTP, with a prompt.
  const HttpResult answer = HttpPost(
      server_->http_port(), "/v1/chat/completions",
      R"({"model":"chat","max_tokens":8,"messages":[)"
      R"({"role":"user","content":"Do you like tea?"}]})",
      "Content-Type: application/json\r\ntraceparent: " + Traceparent(4) +
          "\r\ntracestate: rojo=1\r\n");
  EXPECT_EQ(answer.status, 200) << answer.body;
  spans = WaitForTrace(4, 5);
  EXPECT_THAT(NamesOf(spans),
              ElementsAre("POST /v1/chat/completions", "tokenize", "queue",
                          "prefill", "decode"));
  ExpectWithinTheCall(spans);
  EXPECT_THAT(AttributesOf(spans[0].attributes()),
              IsSupersetOf({"http.route=/v1/chat/completions",
                            "http.response.status_code=200",
                            "rpc.method=trivium.v1.Inference/Generate",
                            "gen_ai.operation.name=text_completion"}));
  EXPECT_THAT(AttributesOf(spans[0].attributes()),
              Not(Contains("gen_ai.usage.input_tokens=0")));
  EXPECT_EQ(spans[0].trace_state(), "rojo=1");

  // The status as the client sees it; each protocol has its own.
  const auto failed = [&](int number, const std::string& path,
                          const std::string& body) {
    const int status =
        HttpPost(server_->http_port(), path, body,
                 "Content-Type: application/json\r\ntraceparent: " +
                     Traceparent(number) + "\r\n")
            .status;
    EXPECT_GE(status, 400);
    EXPECT_THAT(
        AttributesOf(WaitForTrace(number, 1)[0].attributes()),
        Contains("http.response.status_code=" + std::to_string(status)));
    return status;
  };
  EXPECT_EQ(failed(5, "/v1/embeddings", R"({"model":"no","input":"a"})"), 404);
  EXPECT_EQ(failed(6, "/embed", R"({"inputs":[]})"), 400);

  // Another thread writes it.
  std::string audit;
  const absl::Time give_up = absl::Now() + absl::Seconds(60);
  while (audit.find(TraceId(4)) == std::string::npos) {
    ASSERT_LT(absl::Now(), give_up) << audit;
    absl::SleepFor(absl::Milliseconds(2));
    std::ifstream file(server_.folder() / "audit");
    audit.assign(std::istreambuf_iterator<char>(file), {});
  }
  for (const int number : {1, 2, 3}) {
    EXPECT_THAT(audit, HasSubstr("\"trace_id\":\"" + TraceId(number) + "\""));
  }
  EXPECT_THAT(audit, HasSubstr(R"("trace_id":"")"));
}

}  // namespace
}  // namespace trivium
