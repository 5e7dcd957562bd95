#ifndef TRIVIUM_SERVER_TRACING_CALL_TRACE_H_
#define TRIVIUM_SERVER_TRACING_CALL_TRACE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "opentelemetry/traces.pb.h"
#include "server/batching/request_phases.h"
#include "server/observability/rpc.h"
#include "server/tracing/trace_context.h"

namespace trivium {

// The end of a traced call, for the attributes of its span.
struct TracedEnding {
  Rpc rpc;
  std::string_view http_method = "";  // empty: gRPC
  std::string_view http_route = "";
  int http_status = 0;          // of the answer
  std::string_view model = "";  // empty: it named no existing model
  absl::StatusCode code = absl::StatusCode::kOk;
  int64_t source_tokens = 0, generated_tokens = 0;
};

// The spans of one call, in OpenTelemetry's semantic conventions. There is a
// span for the call. A round is the requests that the call submits to the
// batcher together; it has a span for each phase, from the first request that
// begins it to the last one that ends it. A unary call has one round or a few,
// a stream one for each item. Spans hold nothing of the client's texts.
// Thread-safe.
//
//   CallTrace trace(parent, now);
//   trace.AddTokenizing(begin, end);       // of the next round
//   request.phases = trace.NewRound(count);
//   spans = trace.End(ending, now);        // once, when all requests are done
class CallTrace {
 public:
  // Bound on the rounds that have spans; a stream may have any number of items.
  static constexpr size_t kMostRounds = 64;

  // `parent`: the caller's span; unset: a new trace begins here.
  CallTrace(const std::optional<TraceContext>& parent, absl::Time started);

  const std::string& trace_id() const { return trace_id_; }

  void AddTokenizing(absl::Time begin, absl::Time end);
  // Returns the listener for a round of so many requests, valid until End; null
  // after kMostRounds.
  std::shared_ptr<PhaseListener> NewRound(size_t requests);

  std::vector<opentelemetry::Span> End(const TracedEnding& ending,
                                       absl::Time now);

 private:
  // The time from the first begin to the last end that was added.
  struct Interval {
    absl::Time begin = absl::InfiniteFuture(), end = absl::InfinitePast();
    void Add(absl::Time from, absl::Time to);
    bool empty() const { return begin > end; }
  };
  class Round;

  opentelemetry::Span NewSpan(std::string_view name, absl::Time begin,
                              absl::Time end) const;
  void AddPhase(std::string_view name, const Interval& interval,
                size_t requests, std::vector<opentelemetry::Span>* spans) const;
  opentelemetry::Span CallSpan(const TracedEnding& ending,
                               absl::Time now) const;

  const std::string trace_id_;
  const std::string parent_id_;  // empty: none
  const std::string state_;      // the caller's TraceContext::state
  const std::string span_id_;
  const absl::Time started_;
  Mutex mutex_;
  Interval tokenizing_ ABSL_GUARDED_BY(mutex_);  // of the next round
  std::vector<std::shared_ptr<Round>> rounds_ ABSL_GUARDED_BY(mutex_);
  int64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;  // rounds without spans
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRACING_CALL_TRACE_H_
