#ifndef TRIVIUM_SERVER_TRACING_TRACER_H_
#define TRIVIUM_SERVER_TRACING_TRACER_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "server/tracing/call_trace.h"
#include "server/tracing/span_exporter.h"
#include "server/tracing/trace_context.h"

namespace trivium {

// Chooses the calls to trace, and exports their spans. Thread-safe.
class Tracer {
 public:
  // `sample_rate`: the part, 0 .. 1, of calls without a caller's trace that are
  // traced. Calls with one are traced if the caller records its spans.
  Tracer(std::unique_ptr<SpanExporter> exporter, double sample_rate);

  // A call begins. Returns null if it is not traced.
  std::unique_ptr<CallTrace> Begin(const std::optional<TraceContext>& caller,
                                   absl::Time now) const;
  // The call has ended.
  // `to_wall`: what the spans' times lack to those of the machine's clock.
  void End(CallTrace* trace, const TracedEnding& ending, absl::Time now,
           absl::Duration to_wall) const {
    std::vector<opentelemetry::Span> spans = trace->End(ending, now);
    const auto shift = static_cast<uint64_t>(absl::ToInt64Nanoseconds(to_wall));
    for (opentelemetry::Span& span : spans) {
      span.set_start_time_unix_nano(span.start_time_unix_nano() + shift);
      span.set_end_time_unix_nano(span.end_time_unix_nano() + shift);
    }
    exporter_->Add(std::move(spans));
  }

 private:
  const std::unique_ptr<SpanExporter> exporter_;
  const double sample_rate_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRACING_TRACER_H_
