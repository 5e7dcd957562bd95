#include "server/calls/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/exceptions.h"
#include "server/errors/status.h"
#include "server/limits/client_id.h"
#include "server/limits/early_refusal.h"
#include "server/limits/priority.h"

namespace trivium {

Ending EndEarly(const Environment& environment, Rpc rpc,
                const CallContext& context, const absl::Status& status) {
  Ending ending = {status, ""};
  CatchExceptions([&] {
    Call call(environment, context, rpc);
    ending = call.Close(call.admitted().ok() ? status : call.admitted());
  }).IgnoreError();
  return ending;
}

Call::Call(const Environment& environment, CallContext context, Rpc rpc)
    : environment_(environment),
      context_(std::move(context)),
      record_(environment, context_, rpc),
      deadline_(
          DeadlineOf(environment.limits, rpc, context_, record_.started())),
      sender_(SenderOf(context_)),
      batcher_call_(context_.in_transit != 0 ? context_.in_transit
                                             : environment.batcher->NewCall()),
      cancellation_(std::make_shared<Cancellation>()),
      rpc_(rpc),
      models_(environment.models, context_.grant) {
  const bool begun = environment_.calls->Begin();
  // Nothing may be thrown any more, as the destructor must run.
  admitted_ = CatchExceptions([&] {
    if (!begun) {
      return absl::UnavailableError(
          "the server is stopping; send the call to another one");
    }
    if (!context_.access.ok()) return context_.access;
    return ParsePriority(context_.priority).status();
  });
}

// End() is not in Close(): the call's resources are in use until its handler is
// deleted.
Call::~Call() { environment_.calls->End(); }

absl::Status Call::FindModel(const std::string& name, const ModelNeed& need) {
  TRIVIUM_ASSIGN_OR_RETURN(model_, models_.FindFor(rpc_, name, need));
  return absl::OkStatus();
}

absl::Status Call::MayOrder() const {
  if (context_.grant == nullptr || context_.grant->rules().orders) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(fmt::format(
      "the token of '{}' does not allow to load and unload models; that needs "
      "\"orders\": true in the tokens file",
      context_.grant->rules().name));
}

void Call::RunTokenizing(int64_t text_bytes, std::function<void()> work) const {
  if (text_bytes <= kInlineTextBytes) return work();
  RunOnPool(text_bytes, std::move(work));
}

void Call::RunOnPool(int64_t text_bytes, std::function<void()> work) const {
  environment_.tokenizing->Run({client(), this}, text_bytes, std::move(work));
}

void Call::RunDelivery(int64_t bytes, std::function<void()> work) const {
  environment_.delivery->Run({client(), this}, bytes, std::move(work));
}

absl::Status Call::CheckAdmission() const {
  return trivium::CheckAdmission(environment_.batcher, model_.get(), sender_,
                                 batcher_call_, deadline_);
}

absl::Status Call::CheckAlive() const {
  WorkPool::Yield();
  if (cancellation_->cancelled()) {
    return absl::CancelledError("the client cancelled the call");
  }
  if (environment_.clock->Now() >= deadline_) {
    return absl::DeadlineExceededError(
        "the call's deadline passed before its work was done");
  }
  return absl::OkStatus();
}

absl::Status Call::Submit(std::vector<Request> requests,
                          absl::FunctionRef<std::string(int)> field_of) {
  const std::shared_ptr<PhaseListener> phases =
      record_.NewRound(requests.size());
  for (Request& request : requests) {
    if (request.model == nullptr) request.model = model_;
    if (request.salt.empty() && context_.grant != nullptr) {
      request.salt = context_.grant->cache_salt();
    }
    request.client = sender_.client;
    request.priority = sender_.priority;
    request.deadline = deadline_;
    request.cancellation = cancellation_;
    request.phases = phases;
  }
  const Submission submission =
      environment_.batcher->Submit(batcher_call_, std::move(requests));
  const absl::Status& status = submission.status;
  if (absl::IsResourceExhausted(status) ||
      (absl::IsUnavailable(status) &&
       submission.retry_after > absl::ZeroDuration())) {
    return WithRetry(status, submission.retry_after);
  }
  if (absl::IsInvalidArgument(status) && submission.request >= 0) {
    return InvalidField(field_of(submission.request),
                        std::string(status.message()));
  }
  return status;
}

Ending Call::Close(absl::Status status) {
  const absl::Time now = environment_.clock->Now();
  if (context_.in_transit != 0) {
    environment_.batcher->RemoveInTransit(batcher_call_);
  }
  Ending ending = {std::move(status), ""};
  // Without memory the client and the log learn less, but the call ends.
  CatchExceptions([&] {
    ending.status = AsClientSees(ending.status, now);
    ending.request_id = record_.request_id();
  }).IgnoreError();
  record_.End(ending.status, model_.get(), now);
  return ending;
}

absl::Status Call::AsClientSees(absl::Status status, absl::Time now) const {
  // The deadline came with the call and was rounded up, so the client gives up
  // a little earlier: by up to a sixteenth of the call's time, or 2 ms.
  const absl::Duration early =
      std::max((deadline_ - record_.started()) / 16, absl::Milliseconds(2));
  if (status.ok() ? now >= deadline_
                  : absl::IsCancelled(status) && now >= deadline_ - early) {
    return absl::DeadlineExceededError(
        "the call's deadline passed before it ended");
  }
  return status;
}

}  // namespace trivium
