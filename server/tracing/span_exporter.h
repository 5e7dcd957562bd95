#ifndef TRIVIUM_SERVER_TRACING_SPAN_EXPORTER_H_
#define TRIVIUM_SERVER_TRACING_SPAN_EXPORTER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "opentelemetry/traces.pb.h"
#include "server/observability/metrics.h"

namespace trivium {

// The address at which a collector receives traces.
struct TraceEndpoint {
  std::string origin;  // "http://collector:4318"
  std::string path;    // "/v1/traces"
};

// Parses "http://HOST:PORT[/BASE]", or https.
absl::StatusOr<TraceEndpoint> ParseTraceEndpoint(const std::string& url);

// Sends spans to a collector by OTLP over HTTP, a few hundred at a time, on its
// own thread, so that no call waits for the collector. Spans are dropped and
// counted (trivium_trace_spans_total) if the collector does not accept them in
// a few tries, or if too many wait already. Thread-safe.
class SpanExporter {
 public:
  struct Options {
    TraceEndpoint endpoint;
    // For https: PEM file with authorities, one of which has signed the
    // collector's certificate; empty: the system's.
    std::string ca = "";
    size_t most_waiting = 16384;  // spans
    // Spans that come within this time are sent together.
    absl::Duration gather = absl::Milliseconds(200);
    // Wait before the second try; twice as long before the third.
    absl::Duration retry = absl::Seconds(1);
  };

  // `metrics` outlives the exporter. RESOURCE_EXHAUSTED: the system cannot
  // start a thread.
  static absl::StatusOr<std::unique_ptr<SpanExporter>> Create(
      const Options& options, Metrics* metrics);
  // Tries to send the waiting spans, for at most a second.
  ~SpanExporter();

  // Adds the spans of one call; either all of them are sent or none.
  void Add(std::vector<opentelemetry::Span> spans);

 private:
  class Sender;

  explicit SpanExporter(std::shared_ptr<Sender> sender);

  const std::shared_ptr<Sender> sender_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRACING_SPAN_EXPORTER_H_
