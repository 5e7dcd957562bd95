#ifndef TRIVIUM_SERVER_CALLS_ENVIRONMENT_H_
#define TRIVIUM_SERVER_CALLS_ENVIRONMENT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "server/batching/batcher.h"
#include "server/calls/call_registry.h"
#include "server/calls/kept_files.h"
#include "server/calls/load_reports.h"
#include "server/calls/model_control.h"
#include "server/calls/model_directory.h"
#include "server/limits/access.h"
#include "server/limits/work_pool.h"
#include "server/observability/audit_log.h"
#include "server/observability/metrics.h"
#include "server/observability/refusal_log.h"
#include "server/tracing/tracer.h"

namespace trivium {

// What a call may ask for; GetModel tells them all.
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
  // Where the client set no deadline.
  absl::Duration default_deadline = absl::Seconds(60);
  absl::Duration default_stream_deadline = absl::Minutes(10);
  // The metadata key that tells clients apart; empty, and where a call has
  // none: the address.
  std::string client_key_header;
  // A call whose client takes nothing for so long is cancelled.
  absl::Duration stall_timeout = absl::Seconds(30);
};

// What every handler works with. Made once; everything in it outlives the
// calls and is thread-safe.
struct Environment {
  ModelDirectory models;  // the first is the default
  RequestLimits limits;
  bool truncate = false;  // what a request's `truncate` defaults to
  // By way of which two models translate what none does; BCP 47, empty: none.
  std::string pivot_language;
  int64_t max_waiting_tokens = 1 << 20;  // the batcher's
  // Null: what is served does not change.
  ModelControl* model_control = nullptr;
  const Access* access = nullptr;      // null: anybody may call
  bool open_health = true;             // to those without a token, too
  AuditLog* audit = nullptr;           // may be null
  const Tracer* tracer = nullptr;      // null: no call is traced
  const LoadReports* loads = nullptr;  // null: load is not reported
  Batcher* batcher = nullptr;
  Metrics* metrics = nullptr;
  CallRegistry* calls = nullptr;
  RefusalLog* refusals = nullptr;   // may be null
  KeptFiles* kept_files = nullptr;  // null where nobody could fetch them
  WorkPool* tokenizing = nullptr;   // of long texts
  WorkPool* delivery = nullptr;     // results to messages
  const Clock* clock = Clock::Real();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_ENVIRONMENT_H_
