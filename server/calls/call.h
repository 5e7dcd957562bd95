#ifndef TRIVIUM_SERVER_CALLS_CALL_H_
#define TRIVIUM_SERVER_CALLS_CALL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "server/batching/admission.h"
#include "server/batching/request.h"
#include "server/calls/environment.h"
#include "server/calls/transport.h"
#include "server/limits/call_context.h"
#include "server/tracing/tracer.h"
#include "trivium/v1/common.pb.h"

namespace trivium {

// Texts of a message up to so many bytes (TextBytes) are tokenized at once on
// the transport's thread.
inline constexpr int64_t kInlineTextBytes = 2048;

// Ends a call that is refused with `status` before a handler is made for it:
// counts and logs it like any other.
Ending EndEarly(const Environment& environment, Rpc rpc, CallContext context,
                const absl::Status& status);

// What all calls share: the request id, the deadline, cancellation, the model,
// the way to the pools and the batcher, timings, and at the end one log line
// and the metrics. A handler holds one:
//
//   Call call(environment, context, Rpc::kEncode);
//   if (!call.admitted().ok()) -> Finish(call.Close(call.admitted()))
//   call.Open(transport, &request);        // takes it and finds the model
//   call.RunTokenizing(bytes, work);       // here or on a pool
//   call.Submit(requests, field_of);       // to the batcher
//   call.RunDelivery(bytes, work);         // results to messages, on a pool
//   transport->Finish(call.Close(status), response);    // once
class Call {
 public:
  Call(const Environment& environment, CallContext context, Rpc rpc);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const Environment& environment() const { return environment_; }

  // UNAVAILABLE when the call came while the server stops; or its token is none
  // of the server's; INVALID_ARGUMENT where its priority is none.
  const absl::Status& admitted() const { return admitted_; }

  // The client's, or the server's default for such calls.
  absl::Time deadline() const { return deadline_; }

  const std::shared_ptr<Cancellation>& cancellation() const {
    return cancellation_;
  }

  // Takes the request, and finds the model that it names.
  template <typename Message>
  absl::Status Open(Transport* transport, Message* request) {
    TRIVIUM_RETURN_IF_ERROR(transport->Take(request));
    return FindModel(request->model());
  }
  // NOT_FOUND, PERMISSION_DENIED where the call's token does not allow it, or
  // model() from now on; the call keeps it for its life.
  absl::Status FindModel(const std::string& name);
  // The same; but where no name is given and the server's first model is not
  // allowed, the first one that is and translates.
  absl::Status FindAllowedModel(const std::string& name);
  const ServedModel& model() const { return *model_; }
  const ModelHandle& model_handle() const { return model_; }
  // Another model is the call's, before any work of it is submitted.
  void Use(ModelHandle model) { model_ = std::move(model); }
  bool MayUse(const ServedModel& model) const;
  // PERMISSION_DENIED where the call's token does not allow to load and unload
  // models.
  absl::Status MayOrder() const;

  // Counts what the call holds more, or less.
  void Hold(Held kind, int64_t bytes) const {
    if (context_.held != nullptr) context_.held->Add(kind, bytes);
  }

  // Runs `work`, which tokenizes so many bytes of text: long texts on a pool.
  void RunTokenizing(int64_t text_bytes, std::function<void()> work) const;
  // Runs `work`, which makes messages of results of so many bytes, on a pool.
  void RunDelivery(int64_t bytes, std::function<void()> work) const;

  // RESOURCE_EXHAUSTED where the batcher foresees that the call would be late;
  // for a call with a model, before its texts are tokenized.
  absl::Status CheckAdmission() const;

  // CANCELLED or DEADLINE_EXCEEDED when nobody waits for the answer any more.
  // Asked before each piece of long work, with no lock held: on a pool, others'
  // turns come first (WorkPool::GiveWay).
  absl::Status Wanted() const;

  ClientId client() const { return sender_.client; }
  // Tokens that an empty queue takes of the call's priority.
  int64_t max_waiting_tokens() const {
    return Admission::MostTokens(environment_.max_waiting_tokens,
                                 sender_.priority);
  }
  // Tokens that the call's client may have queued yet.
  int64_t free_waiting_tokens() const {
    return environment_.batcher->free_waiting_tokens(sender_);
  }

  // Gives requests to the batcher, all or none, with this call's model, unless
  // they have one of their own, sender, deadline and cancellation. After OK the
  // observers may have ended the call: it must not be touched. An error tells
  // in the call's words what the batcher refused: `field_of`(i) is the place of
  // request i's input; a full queue tells when to come again.
  absl::Status Submit(std::vector<Request> requests,
                      absl::FunctionRef<std::string(int)> field_of);

  // For the log line, the metrics and Timings. The times of several requests
  // of a call overlap: the longest of each counts.
  void AddTokenizing(absl::Time begin, absl::Time end);
  // `model`: of the request; null: the call's.
  void AddResult(const RequestResult& result, const ServedModel* model);

  v1::Timings timings() const;
  v1::ModelVersion model_version() const;

  // Ends the call: logs and counts. Tells what the transport has to say: of a
  // call that ends at its deadline or later, as its client has it,
  // DEADLINE_EXCEEDED.
  Ending Close(absl::Status status);

 private:
  absl::Status AsClientSees(absl::Status status, absl::Time now) const;
  void TellRefusals(const absl::Status& status, absl::Time now) const;
  // In hex digits, as the caller has it or the call's spans; empty: none.
  std::string TraceId() const;
  void LogEnd(const absl::Status& status, absl::Duration total) const;
  void AuditEnd(const absl::Status& status, absl::Time now) const;

  const Environment& environment_;
  const CallContext context_;
  const Rpc rpc_;
  const absl::Time started_;
  const std::string request_id_;
  const std::unique_ptr<CallTrace> trace_;  // null: the call is not traced
  const absl::Time deadline_;
  const Sender sender_;
  const CallId batcher_call_;
  const std::shared_ptr<Cancellation> cancellation_;
  absl::Status admitted_;
  ModelHandle model_;  // null until it is found
  absl::Duration queue_, tokenize_, inference_;
  int64_t results_ = 0, source_tokens_ = 0, generated_tokens_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CALL_H_
