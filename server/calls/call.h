#ifndef TRIVIUM_SERVER_CALLS_CALL_H_
#define TRIVIUM_SERVER_CALLS_CALL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/alive_check.h"
#include "base/status.h"
#include "server/batching/admission.h"
#include "server/batching/request.h"
#include "server/calls/allowed_models.h"
#include "server/calls/call_record.h"
#include "server/calls/convert/call_fields.h"
#include "server/calls/environment.h"
#include "server/calls/transport.h"
#include "server/limits/call_context.h"

namespace trivium {

// Messages with at most this many bytes of text (TextBytes) are tokenized at
// once, on the transport's thread.
inline constexpr int64_t kInlineTextBytes = 2048;

// Ends a call that is refused with `status` before a handler is made for it:
// counts and logs it like any other. Does not throw.
Ending EndEarly(const Environment& environment, Rpc rpc,
                const CallContext& context, const absl::Status& status);

// The part of a handler that is the same for all calls: access, deadline,
// cancellation, model, the way to the pools and to the batcher. All that is
// told about the call is in its CallRecord. A handler holds one Call:
//
//   Call call(environment, context, Rpc::kEncode);
//   if (!call.admitted().ok()) -> Finish(call.Close(call.admitted()))
//   call.Open(transport, &request);        // parses it and finds the model
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

  // OK, or why the call must end at once: UNAVAILABLE while the server stops,
  // the status of a token that is not valid, INVALID_ARGUMENT for an unknown
  // priority.
  const absl::Status& admitted() const { return admitted_; }

  // The client's, or else the server's default for such calls.
  absl::Time deadline() const { return deadline_; }

  const std::shared_ptr<Cancellation>& cancellation() const {
    return cancellation_;
  }

  // Parses the request and finds the model that it names.
  template <typename Message>
  absl::Status Open(Transport* transport, Message* request) {
    TRIVIUM_RETURN_IF_ERROR(transport->ParseRequest(request));
    return FindModel(ModelName(*request), NeedOf(*request));
  }
  // Finds model(), which the call keeps for its life (AllowedModels::FindFor).
  absl::Status FindModel(const std::string& name,
                         const ModelNeed& need = nullptr);
  const ServedModel& model() const { return *model_; }
  const ModelHandle& model_handle() const { return model_; }
  // Replaces the call's model; only before any of its work is submitted.
  void Use(ModelHandle model) { model_ = std::move(model); }
  // The models that the call's token allows.
  const AllowedModels& models() const { return models_; }
  // PERMISSION_DENIED if the call's token does not allow it to load and unload
  // models.
  absl::Status MayOrder() const;

  // The account of the bytes that the call holds; may be null.
  CallBytes* held() const { return context_.held.get(); }
  // Counts `bytes` more, or fewer if negative.
  void Hold(Held kind, int64_t bytes) const {
    if (held() != nullptr) held()->Add(kind, bytes);
  }

  // Runs `work`, which tokenizes so many bytes of text (TextBytes): at once if
  // they are few, else on a pool.
  void RunTokenizing(int64_t text_bytes, std::function<void()> work) const;
  // The same, always on the pool: for one of many steps, each of which begins
  // the next.
  void RunOnPool(int64_t text_bytes, std::function<void()> work) const;
  // Runs `work`, which makes messages of results of so many bytes, on a pool.
  void RunDelivery(int64_t bytes, std::function<void()> work) const;

  // RESOURCE_EXHAUSTED if the batcher expects that the call would be late. For
  // a call that has its model, before its texts are tokenized.
  absl::Status CheckAdmission() const;

  // CANCELLED or DEADLINE_EXCEEDED once nobody waits for the answer. Called
  // before each piece of long work, with no lock held: on a pool, the short
  // work of other calls comes first (WorkPool::Yield).
  absl::Status CheckAlive() const;
  // The same for the layers below, which know no calls; outlived by the call.
  AliveCheck alive_check() const {
    return [this] { return CheckAlive(); };
  }

  ClientId client() const { return sender_.client; }
  // Tokens of the call's priority that an empty queue has room for.
  int64_t max_waiting_tokens() const {
    return Admission::MostTokens(environment_.max_waiting_tokens,
                                 sender_.priority);
  }
  // Tokens that the call's client may still put into the queue.
  int64_t free_waiting_tokens() const {
    return environment_.batcher->free_waiting_tokens(sender_);
  }

  // Gives requests to the batcher, all or none. Fills in their sender,
  // deadline, cancellation, and the call's model if they have none of their
  // own. After OK the observers may have ended the call already, so it must not
  // be touched. An error that is about request i names field_of(i), the place
  // of its input; RESOURCE_EXHAUSTED says when to retry.
  absl::Status Submit(std::vector<Request> requests,
                      absl::FunctionRef<std::string(int)> field_of);

  // For the record of the call.
  void AddTokenizing(absl::Time begin, absl::Time end) {
    record_.AddTokenizing(begin, end);
  }
  // `model` is the request's; null: the call's.
  void AddResult(const RequestResult& result, const ServedModel* model) {
    record_.AddResult(result, model == nullptr ? *model_ : *model);
  }
  CallTimings timings() const { return record_.timings(); }

  // Ends the call and completes its record. Returns what the transport tells
  // the client: DEADLINE_EXCEEDED if its deadline has passed. Does not throw.
  Ending Close(absl::Status status);

 private:
  absl::Status AsClientSees(absl::Status status, absl::Time now) const;

  const Environment& environment_;
  const CallContext context_;
  CallRecord record_;
  const absl::Time deadline_;
  const Sender sender_;
  const CallId batcher_call_;
  const std::shared_ptr<Cancellation> cancellation_;
  const Rpc rpc_;
  const AllowedModels models_;
  absl::Status admitted_;
  ModelHandle model_;  // null until it is found
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CALL_H_
