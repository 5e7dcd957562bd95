#include "server/tracing/call_trace.h"

#include <map>
#include <set>

#include "gmock/gmock.h"
#include "tests/support/trace_collector.h"

namespace trivium {
namespace {

using opentelemetry::Span;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

absl::Time At(int milliseconds) {
  return absl::FromUnixSeconds(1'000'000) + absl::Milliseconds(milliseconds);
}

// A span as "queue 10..25", in milliseconds.
std::vector<std::string> Times(const std::vector<Span>& spans) {
  const auto ms = [](uint64_t nanoseconds) {
    return std::to_string(nanoseconds / 1'000'000 - 1'000'000'000);
  };
  std::vector<std::string> out;
  for (const Span& span : spans) {
    out.push_back(span.name() + " " + ms(span.start_time_unix_nano()) + ".." +
                  ms(span.end_time_unix_nano()));
  }
  return out;
}

TEST(CallTraceTest, PhasesAreBelowTheCallWhichIsBelowItsCaller) {
  const TraceContext caller = {std::string(16, 't'), std::string(8, 's'), true,
                               "vendor=1"};
  CallTrace trace(caller, At(0));
  trace.AddTokenizing(At(1), At(2));
  trace.AddTokenizing(At(3), At(4));
  const auto round = trace.NewRound(2);
  round->OnPhase(RequestPhase::kQueue, At(4), At(10));
  round->OnPhase(RequestPhase::kQueue, At(4), At(12));
  round->OnPhase(RequestPhase::kEncode, At(10), At(20));
  round->OnPhase(RequestPhase::kEncode, At(12), At(18));
  round->OnPhase(RequestPhase::kDecode, At(20), At(70));
  const std::vector<Span> spans = trace.End({.rpc = Rpc::kTranslate}, At(80));
  EXPECT_THAT(Times(spans), ElementsAre("trivium.v1.Inference/Translate 0..80",
                                        "tokenize 1..4", "queue 4..12",
                                        "encode 10..20", "decode 20..70"));
  std::set<std::string> ids;
  for (const Span& span : spans) {
    EXPECT_EQ(span.trace_id(), caller.trace_id);
    EXPECT_EQ(span.parent_span_id(),
              &span == &spans[0] ? caller.span_id : spans[0].span_id());
    EXPECT_EQ(span.kind(), &span == &spans[0] ? Span::SPAN_KIND_SERVER
                                              : Span::SPAN_KIND_INTERNAL);
    EXPECT_EQ(span.flags(), 1u);
    EXPECT_EQ(span.trace_state(), "vendor=1");
    EXPECT_EQ(span.span_id().size(), 8u);
    ids.insert(span.span_id());
  }
  EXPECT_EQ(ids.size(), spans.size());
  EXPECT_THAT(AttributesOf(spans[2].attributes()),
              ElementsAre("trivium.requests=2"));
}

TEST(CallTraceTest, ACallWithoutACallersTraceBeginsATrace) {
  CallTrace trace(std::nullopt, At(0));
  const std::vector<Span> spans = trace.End({.rpc = Rpc::kEncode}, At(1));
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].trace_id(), trace.trace_id());
  EXPECT_EQ(spans[0].trace_id().size(), 16u);
  EXPECT_EQ(spans[0].parent_span_id(), "");
}

TEST(CallTraceTest, AttributesFollowOpenTelemetrysConventions) {
  CallTrace grpc(std::nullopt, At(0));
  Span span = grpc.End({.rpc = Rpc::kGenerate,
                        .model = "chat",
                        .source_tokens = 7,
                        .generated_tokens = 40},
                       At(1))[0];
  EXPECT_THAT(
      AttributesOf(span.attributes()),
      ElementsAre("rpc.method=trivium.v1.Inference/Generate",
                  "rpc.system.name=grpc", "rpc.response.status_code=OK",
                  "gen_ai.operation.name=text_completion",
                  "gen_ai.provider.name=trivium", "gen_ai.request.model=chat",
                  "gen_ai.usage.input_tokens=7",
                  "gen_ai.usage.output_tokens=40"));
  EXPECT_EQ(span.status().code(), opentelemetry::Status::STATUS_CODE_UNSET);

  CallTrace http(std::nullopt, At(0));
  span = http.End({.rpc = Rpc::kEncode,
                   .http_method = "POST",
                   .http_route = "/v1/embeddings",
                   .http_status = 500,
                   .code = absl::StatusCode::kInternal},
                  At(1))[0];
  EXPECT_EQ(span.name(), "POST /v1/embeddings");
  EXPECT_THAT(AttributesOf(span.attributes()),
              IsSupersetOf(
                  {"http.request.method=POST", "http.route=/v1/embeddings",
                   "http.response.status_code=500",
                   "rpc.method=trivium.v1.Inference/Encode",
                   "gen_ai.operation.name=embeddings", "error.type=INTERNAL"}));
  EXPECT_THAT(AttributesOf(span.attributes()),
              Not(Contains(HasSubstr("rpc.system"))));
  EXPECT_EQ(span.status().code(), opentelemetry::Status::STATUS_CODE_ERROR);
}

// A mistake of a client is not an error of the server.
TEST(CallTraceTest, OnlyServerErrorsAreErrors) {
  const std::map<absl::StatusCode, bool> errors = {
      {absl::StatusCode::kInvalidArgument, false},
      {absl::StatusCode::kCancelled, false},
      {absl::StatusCode::kResourceExhausted, false},
      {absl::StatusCode::kDeadlineExceeded, true},
      {absl::StatusCode::kUnavailable, true},
      {absl::StatusCode::kInternal, true}};
  for (const auto& [code, error] : errors) {
    CallTrace trace(std::nullopt, At(0));
    const Span span = trace.End({.rpc = Rpc::kScore, .code = code}, At(1))[0];
    EXPECT_EQ(span.status().code() == opentelemetry::Status::STATUS_CODE_ERROR,
              error)
        << code;
    EXPECT_EQ(span.status().message(), "");
  }
}

// A stream may have any number of items.
TEST(CallTraceTest, BoundsTheRoundsThatASpanTells) {
  CallTrace trace(std::nullopt, At(0));
  for (size_t i = 0; i < CallTrace::kMostRounds + 5; ++i) {
    trace.AddTokenizing(At(1), At(2));
    const auto round = trace.NewRound(1);
    EXPECT_EQ(round != nullptr, i < CallTrace::kMostRounds);
    if (round != nullptr) round->OnPhase(RequestPhase::kQueue, At(2), At(3));
  }
  trace.AddTokenizing(At(4), At(5));  // of a refused item
  const auto spans = trace.End({.rpc = Rpc::kEncodeStream}, At(6));
  EXPECT_EQ(spans.size(), 1 + 2 * CallTrace::kMostRounds + 1);
  EXPECT_THAT(AttributesOf(spans[0].attributes()),
              Contains("trivium.rounds_without_spans=5"));
  EXPECT_EQ(Times(spans).back(), "tokenize 4..5");
}

}  // namespace
}  // namespace trivium
