#ifndef TRIVIUM_SERVER_CALLS_ENVIRONMENT_H_
#define TRIVIUM_SERVER_CALLS_ENVIRONMENT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "server/batching/batcher.h"
#include "server/calls/call_registry.h"
#include "server/calls/glossary_store.h"
#include "server/calls/kept_files.h"
#include "server/calls/load_reports.h"
#include "server/calls/model_control.h"
#include "server/calls/model_directory.h"
#include "server/limits/access.h"
#include "server/limits/request_limits.h"
#include "server/limits/work_pool.h"
#include "server/observability/audit_log.h"
#include "server/observability/ignored_members.h"
#include "server/observability/metrics.h"
#include "server/observability/refusal_log.h"
#include "server/tracing/tracer.h"

namespace trivium {

class DocumentJobs;

// The parts of the server that every handler works with. Made once; everything
// in it outlives the calls and is thread-safe.
struct Environment {
  ModelDirectory models;
  RequestLimits limits;
  bool truncate = false;  // the default of a request's `truncate`
  // The language by way of which two models translate a pair of languages that
  // no single model has. BCP 47; empty: none.
  std::string pivot_language;
  int64_t max_waiting_tokens = 1 << 20;  // the batcher's
  int max_connections = 4096;            // of HTTP, each with a call at a time
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
  RefusalLog* refusals = nullptr;  // may be null
  // Null: they are ignored and not logged.
  IgnoredMembers* ignored_members = nullptr;
  KeptFiles* kept_files = nullptr;        // null if nobody could fetch them
  GlossaryStore* glossaries = nullptr;    // null if nobody could name them
  DocumentJobs* document_jobs = nullptr;  // null if nobody could fetch them
  WorkPool* tokenizing = nullptr;         // tokenizes long texts
  WorkPool* delivery = nullptr;           // makes messages of results
  const Clock* clock = Clock::Real();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_ENVIRONMENT_H_
