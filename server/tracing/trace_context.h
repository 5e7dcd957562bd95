#ifndef TRIVIUM_SERVER_TRACING_TRACE_CONTEXT_H_
#define TRIVIUM_SERVER_TRACING_TRACE_CONTEXT_H_

#include <optional>
#include <string>
#include <string_view>

namespace trivium {

// A bit of the flags, the last byte of traceparent.
inline constexpr int kSampledFlag = 1;

// The trace that a call is part of, from its caller (W3C Trace Context).
struct TraceContext {
  std::string trace_id;  // 16 bytes, not all zero
  std::string span_id;   // 8 bytes, not all zero: the caller's span
  bool sampled = false;  // the caller records its spans, so callees do, too
  // Data of tracing systems, "vendor=value,other=value".
  std::string state = "";
};

// Returns nothing if `traceparent` is empty or invalid; the specification has
// invalid ones ignored. An invalid `tracestate` alone is left out.
std::optional<TraceContext> ParseTraceContext(std::string_view traceparent,
                                              std::string_view tracestate);

// Random ids, not all zero: 16 and 8 bytes.
std::string NewTraceId();
std::string NewSpanId();

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRACING_TRACE_CONTEXT_H_
