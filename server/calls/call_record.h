#ifndef TRIVIUM_SERVER_CALLS_CALL_RECORD_H_
#define TRIVIUM_SERVER_CALLS_CALL_RECORD_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/calls/call_timings.h"
#include "server/calls/environment.h"
#include "server/limits/call_context.h"
#include "server/tracing/tracer.h"

namespace trivium {

// Records a call and reports it: to its client (request id, Timings), to the
// operator (metrics, log line, audit log, refusals) and to a trace collector
// (spans). Call adds what happens; End reports it everywhere, once. Not
// thread-safe, except for NewRound.
class CallRecord {
 public:
  // The call starts now. `environment` and `context` outlive the record.
  CallRecord(const Environment& environment, const CallContext& context,
             Rpc rpc);
  // Ends the record of a call whose constructor threw for lack of memory.
  ~CallRecord();
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  absl::Time started() const { return started_; }
  // The client's own id if it is well-formed, else a random one.
  const std::string& request_id() const { return request_id_; }

  // Hears of the phases of `requests` requests that are submitted together;
  // null if the call is not traced.
  std::shared_ptr<PhaseListener> NewRound(size_t requests) const;

  void AddTokenizing(absl::Time begin, absl::Time end);
  // The times of a call's requests overlap, so the longest of each counts.
  void AddResult(const RequestResult& result, const ServedModel& model);

  CallTimings timings() const;

  // The call ended with `status`; `model` is null if none was found. Does not
  // throw.
  void End(const absl::Status& status, const ServedModel* model,
           absl::Time now);

 private:
  // In hexadecimal digits: that of the call's spans, or else of its caller;
  // empty: none.
  std::string TraceId() const;
  void EndTrace(const absl::Status& status, const std::string& model,
                absl::Time now);
  void LogEnd(const absl::Status& status, const std::string& model,
              absl::Duration total) const;
  void AuditEnd(const absl::Status& status, const std::string& model,
                absl::Time now) const;
  void CountRefusal(const absl::Status& status, absl::Time now) const;

  const Environment& environment_;
  const CallContext& context_;
  const Rpc rpc_;
  const absl::Time started_;
  const std::string request_id_;
  const std::unique_ptr<CallTrace> trace_;  // null: the call is not traced
  bool ended_ = false;
  absl::Duration queue_, tokenize_, inference_;
  int64_t results_ = 0, source_tokens_ = 0, generated_tokens_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CALL_RECORD_H_
