#ifndef TRIVIUM_SERVER_LIMITS_REQUEST_LIMITS_H_
#define TRIVIUM_SERVER_LIMITS_REQUEST_LIMITS_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "server/limits/call_context.h"
#include "server/observability/rpc.h"

namespace trivium {

// Bounds of what one call may ask for. GetModel reports them.
struct RequestLimits {
  int64_t max_request_bytes = 4 << 20;
  int max_inputs = 2048;  // as their bytes and tokens allow
  int max_windows = 512;  // of an Answer call
  int64_t max_text_bytes = 1 << 20;
  int max_beam_size = 16;
  int max_stop_strings = 16;
  int max_stop_bytes = 256;
  int max_top_logprobs = 20;
  int64_t max_response_bytes = 4 << 20;
  // Used if the client set no deadline.
  absl::Duration default_deadline = absl::Seconds(60);
  absl::Duration default_stream_deadline = absl::Minutes(10);
  // The metadata key that tells clients apart. If it is empty, or a call has
  // none, the address does.
  std::string client_key_header;
  // A call whose client reads nothing for this long is cancelled.
  absl::Duration stall_timeout = absl::Seconds(30);
};

// Returns the deadline of a call that started at `started`: its client's, or
// the default of its kind.
absl::Time DeadlineOf(const RequestLimits& limits, Rpc rpc,
                      const CallContext& context, absl::Time started);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_REQUEST_LIMITS_H_
