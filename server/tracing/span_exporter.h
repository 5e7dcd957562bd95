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

// Where a collector takes traces.
struct TraceEndpoint {
  std::string origin;  // "http://collector:4318"
  std::string path;    // "/v1/traces"
};

// Of "http://HOST:PORT[/BASE]" or https. The error says what is wrong.
absl::StatusOr<TraceEndpoint> ParseTraceEndpoint(const std::string& url);

// Sends spans to a collector by OTLP over HTTP, a few hundred at a time, on a
// thread of its own, so that no call ever waits for the collector. What it does
// not take in a few tries, and what comes while very much waits, is dropped and
// counted (trivium_trace_spans_total). Thread-safe.
class SpanExporter {
 public:
  struct Options {
    TraceEndpoint endpoint;
    // Of https: a PEM file of authorities, one of which has signed the
    // collector's certificate; empty: the system's.
    std::string ca = "";
    size_t most_waiting = 16384;  // spans
    // What comes within is sent together.
    absl::Duration gather = absl::Milliseconds(200);
    // Before the second try, and twice as long before the third.
    absl::Duration retry = absl::Seconds(1);
  };

  // RESOURCE_EXHAUSTED where the system gives no thread. `metrics` outlives it.
  static absl::StatusOr<std::unique_ptr<SpanExporter>> Create(
      const Options& options, Metrics* metrics);
  // Tries to send what waits, for at most a second.
  ~SpanExporter();

  // A call's: all of them are sent, or none.
  void Add(std::vector<opentelemetry::Span> spans);

 private:
  class Sender;

  explicit SpanExporter(std::shared_ptr<Sender> sender);

  const std::shared_ptr<Sender> sender_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRACING_SPAN_EXPORTER_H_
