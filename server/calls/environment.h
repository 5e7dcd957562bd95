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

// The limits of what a call may ask for; GetModel reports them all.
struct RequestLimits {
  int64_t max_request_bytes = 4 << 20;
  int max_inputs = 2048;  // bytes and tokens may allow fewer
  int max_windows = 512;  // of an Answer call
  int64_t max_text_bytes = 1 << 20;
  int max_beam_size = 16;
  int max_stop_strings = 16;
  int max_stop_bytes = 256;
  int max_top_logprobs = 20;
  int64_t max_response_bytes = 4 << 20;
  // For calls whose client set no deadline.
  absl::Duration default_deadline = absl::Seconds(60);
  absl::Duration default_stream_deadline = absl::Minutes(10);
  // The metadata key that tells clients apart. If it is empty, or a call does
  // not have it, the address does.
  std::string client_key_header;
  // A stream whose client takes nothing for so long is cancelled.
  absl::Duration stall_timeout = absl::Seconds(30);
};

// The parts of the server that every handler works with. Made once; everything
// in it outlives the calls and is thread-safe.
struct Environment {
  ModelDirectory models;  // the first one is the default
  RequestLimits limits;
  bool truncate = false;  // the default of a request's `truncate`
  // The language by way of which two models translate a pair of languages that
  // no single model has. BCP 47; empty: none.
  std::string pivot_language;
  int64_t max_waiting_tokens = 1 << 20;  // the batcher's
  // Null: the served models do not change.
  ModelControl* model_control = nullptr;
  const Access* access = nullptr;      // null: anybody may call
  bool open_health = true;             // health needs no token
  AuditLog* audit = nullptr;           // may be null
  const Tracer* tracer = nullptr;      // null: no call is traced
  const LoadReports* loads = nullptr;  // null: load is not reported
  Batcher* batcher = nullptr;
  Metrics* metrics = nullptr;
  CallRegistry* calls = nullptr;
  RefusalLog* refusals = nullptr;   // may be null
  KeptFiles* kept_files = nullptr;  // null if nobody could fetch them
  WorkPool* tokenizing = nullptr;   // tokenizes long texts
  WorkPool* delivery = nullptr;     // makes messages of results
  const Clock* clock = Clock::Real();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_ENVIRONMENT_H_
