#ifndef TRIVIUM_SERVER_TRACING_TRACE_CONTEXT_H_
#define TRIVIUM_SERVER_TRACING_TRACE_CONTEXT_H_

#include <optional>
#include <string>
#include <string_view>

namespace trivium {

// Of the flags, the last byte of traceparent.
inline constexpr int kSampledFlag = 1;

// What a caller says of the trace that its call is part of (W3C Trace Context).
struct TraceContext {
  std::string trace_id;  // 16 bytes, not all zero
  std::string span_id;   // 8 bytes, not all zero: the caller's span
  bool sampled = false;  // the caller records its spans, so others do, too
  // What systems that trace say to their like, "vendor=value,other=value".
  std::string state = "";
};

// Nothing where `traceparent` is empty or not what the specification says, with
// which it is to be ignored. So is a `tracestate` that is not, alone.
std::optional<TraceContext> ParseTraceContext(std::string_view traceparent,
                                              std::string_view tracestate);

// Random, and not all zero.
std::string NewTraceId();
std::string NewSpanId();

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRACING_TRACE_CONTEXT_H_
