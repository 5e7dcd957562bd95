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

// How a traced call ended, for the attributes of its span.
struct TracedEnding {
  Rpc rpc;
  std::string_view http_method = "";  // empty: gRPC
  std::string_view http_route = "";
  int http_status = 0;          // of the answer
  std::string_view model = "";  // empty: it named none that exists
  absl::StatusCode code = absl::StatusCode::kOk;
  int64_t source_tokens = 0, generated_tokens = 0;
};

// The spans of one call, in OpenTelemetry's semantic conventions: the call's
// own, and for each round of requests that it gave to the batcher together one
// span a phase, from the first request's beginning of it to the last one's end.
// A unary call has one round or a few, a stream one for each item. Nothing of a
// client's texts is in them. Thread-safe.
//
//   CallTrace trace(parent, now);
//   trace.AddTokenizing(begin, end);       // of what is submitted next
//   request.phases = trace.NewRound(count);
//   spans = trace.End(ending, now);        // once, when all requests are done
class CallTrace {
 public:
  // Rounds that have spans; a stream has any number of items.
  static constexpr size_t kMostRounds = 64;

  // `parent`: of the caller's span, or none of a trace that begins here.
  CallTrace(const std::optional<TraceContext>& parent, absl::Time started);

  const std::string& trace_id() const { return trace_id_; }

  void AddTokenizing(absl::Time begin, absl::Time end);
  // Hears of so many requests, until End. Null where there were kMostRounds.
  std::shared_ptr<PhaseListener> NewRound(size_t requests);

  std::vector<opentelemetry::Span> End(const TracedEnding& ending,
                                       absl::Time now);

 private:
  // From the first beginning to the last end; of nothing at first.
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
  const std::string state_;      // of the caller
  const std::string span_id_;
  const absl::Time started_;
  Mutex mutex_;
  Interval tokenizing_ ABSL_GUARDED_BY(mutex_);  // of the next round
  std::vector<std::shared_ptr<Round>> rounds_ ABSL_GUARDED_BY(mutex_);
  int64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;  // rounds
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRACING_CALL_TRACE_H_
