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

// Chooses the calls that are traced, and takes their spans. Thread-safe.
class Tracer {
 public:
  // `sample_rate`: 0 .. 1, of the calls whose callers say nothing of a trace.
  // Of the others those are traced whose callers record their spans, too.
  Tracer(std::unique_ptr<SpanExporter> exporter, double sample_rate);

  // A call begins. Null: it is not traced.
  std::unique_ptr<CallTrace> Begin(const std::optional<TraceContext>& caller,
                                   absl::Time now) const;
  // It has ended.
  void End(CallTrace* trace, const TracedEnding& ending, absl::Time now) const {
    exporter_->Add(trace->End(ending, now));
  }

 private:
  const std::unique_ptr<SpanExporter> exporter_;
  const double sample_rate_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRACING_TRACER_H_
