#include "server/tracing/span_exporter.h"

#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "server/tracing/tracer.h"
#include "tests/server/transports/net/authority.h"
#include "tests/support/error_texts.h"
#include "tests/support/trace_collector.h"

namespace trivium {
namespace {

using opentelemetry::Span;
using ::testing::IsSupersetOf;

std::vector<Span> Spans(size_t count) {
  std::vector<Span> spans(count);
  for (size_t i = 0; i < count; ++i) spans[i].set_name(std::to_string(i));
  return spans;
}

class SpanExporterTest : public testing::Test {
 protected:
  void Create(const std::string& url) {
    options_.endpoint = *ParseTraceEndpoint(url);
    options_.retry = absl::Milliseconds(1);
    exporter_ = *SpanExporter::Create(options_, &metrics_);
  }
  // Waits until the metrics count so many spans with this result.
  void WaitForCount(const std::string& result, int count) {
    const std::string line = "trivium_trace_spans_total{result=\"" + result +
                             "\"} " + std::to_string(count) + "\n";
    const absl::Time give_up = absl::Now() + absl::Seconds(60);
    while (metrics_.Text().find(line) == std::string::npos) {
      ASSERT_LT(absl::Now(), give_up) << metrics_.Text();
      std::this_thread::yield();
    }
  }

  Metrics metrics_{1};
  TraceCollector collector_;
  SpanExporter::Options options_;
  std::unique_ptr<SpanExporter> exporter_;
};

TEST_F(SpanExporterTest, SendsSpansAndItsIdentity) {
  Create(collector_.url());
  exporter_->Add(Spans(3));
  const std::vector<Span> spans = collector_.WaitForSpans(3);
  EXPECT_EQ(spans[2].name(), "2");
  EXPECT_THAT(AttributesOf(collector_.last().resource().attributes()),
              IsSupersetOf({std::string("service.name=trivium-server")}));
  EXPECT_EQ(collector_.last().scope_spans(0).scope().name(), "trivium");
  WaitForCount("sent", 3);
  WaitForCount("dropped", 0);
}

TEST_F(SpanExporterTest, SendsVeryManySpansInParts) {
  Create(collector_.url());
  for (int i = 0; i < 20; ++i) exporter_->Add(Spans(100));
  const std::vector<Span> spans = collector_.WaitForSpans(2000);
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i].name(), std::to_string(i % 100));
  }
}

// The last spans of a server are sent before it ends.
TEST_F(SpanExporterTest, SendsTheLastSpansBeforeItEnds) {
  options_.gather = absl::Hours(1);
  Create(collector_.url());
  exporter_->Add(Spans(700));
  exporter_->Add(Spans(7));
  exporter_.reset();
  collector_.WaitForSpans(707);
}

TEST_F(SpanExporterTest, RetriesErrorsThatMayPass) {
  collector_.AnswerWith({503, 429});
  Create(collector_.url());
  exporter_->Add(Spans(2));
  collector_.WaitForSpans(2);
  WaitForCount("sent", 2);
  collector_.AnswerWith({400});
  exporter_->Add(Spans(5));
  WaitForCount("dropped", 5);
  collector_.AnswerWith({503, 502, 504});
  exporter_->Add(Spans(1));
  WaitForCount("dropped", 6);
  collector_.Reject(3);
  exporter_->Add(Spans(4));
  WaitForCount("dropped", 9);
  WaitForCount("sent", 3);
}

TEST_F(SpanExporterTest, ACollectorMayHaveTls) {
  const Authority authority("authority");
  const Authority other("other");
  const TlsCredentials::Files files = authority.Issue("collector");
  TraceCollector safe(files.certificate, files.key);
  ASSERT_THAT(safe.url(), testing::StartsWith("https://"));
  options_.ca = authority.file();
  Create(safe.url());
  exporter_->Add(Spans(3));
  safe.WaitForSpans(3);
  WaitForCount("sent", 3);
  // Neither the other authority nor one of the system's has signed the
  // collector's certificate.
  for (const std::string& ca : {other.file(), std::string()}) {
    options_.ca = ca;
    Create(safe.url());
    exporter_->Add(Spans(2));
    exporter_.reset();
  }
  WaitForCount("dropped", 4);
  WaitForCount("sent", 3);
}

TEST_F(SpanExporterTest, WithoutACollectorSpansAreDroppedAndCounted) {
  std::string url;
  {
    const TraceCollector gone;
    url = gone.url();
  }
  Create(url);
  exporter_->Add(Spans(4));
  WaitForCount("dropped", 4);
  WaitForCount("sent", 0);
}

// Nothing waits for a collector that does not answer, not even the end of the
// server.
TEST_F(SpanExporterTest, BoundsTheSpansThatWait) {
  collector_.Hold();
  options_.most_waiting = 10;
  options_.gather = absl::ZeroDuration();
  Create(collector_.url());
  exporter_->Add(Spans(3));
  collector_.WaitForRequests(1);
  exporter_->Add(Spans(8));
  exporter_->Add(Spans(3));  // all spans of a call are kept, or none
  WaitForCount("dropped", 3);
  exporter_->Add(Spans(2));
  WaitForCount("dropped", 3);
  const absl::Time begin = absl::Now();
  exporter_.reset();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(4));
}

TEST(TraceEndpointTest, AcceptsOnlyAddressesOfHttp) {
  const auto plain = ParseTraceEndpoint("http://localhost:4318");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->origin, "http://localhost:4318");
  EXPECT_EQ(plain->path, "/v1/traces");
  EXPECT_EQ(ParseTraceEndpoint("https://a.example/otlp/")->path,
            "/otlp/v1/traces");
  EXPECT_EQ(ParseTraceEndpoint("http://[::1]:4318/v1/traces")->path,
            "/v1/traces");
  for (const char* bad :
       {"", "localhost:4318", "grpc://localhost:4317", "http://",
        "http:///v1/traces", "http://user@host", "http://host?x=1"}) {
    EXPECT_THAT(ParseTraceEndpoint(bad).status(),
                IsError(absl::StatusCode::kInvalidArgument,
                        "'" + std::string(bad) + "'"))
        << bad;
  }
}

// Follows the choice of a caller that made one. Traces the given rate of the
// other calls.
TEST(TracerTest, TracesTheGivenPartOfCallsAndThoseTheCallerChose) {
  Metrics metrics(1);
  TraceCollector collector;
  const auto choice = [&](double rate, const std::optional<TraceContext>& by) {
    const Tracer tracer(
        *SpanExporter::Create(
            {.endpoint = *ParseTraceEndpoint(collector.url())}, &metrics),
        rate);
    int traced = 0;
    for (int i = 0; i < 1000; ++i) {
      traced += tracer.Begin(by, absl::Now()) != nullptr;
    }
    return traced;
  };
  TraceContext caller = {std::string(16, 't'), std::string(8, 's'), true};
  EXPECT_EQ(choice(0, caller), 1000);
  EXPECT_EQ(choice(0, std::nullopt), 0);
  EXPECT_EQ(choice(1, std::nullopt), 1000);
  // The bound is ten standard deviations.
  EXPECT_NEAR(choice(0.25, std::nullopt), 250, 137);
  caller.sampled = false;
  EXPECT_EQ(choice(1, caller), 0);
}

}  // namespace
}  // namespace trivium
