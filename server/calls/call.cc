#include "server/calls/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/random_bits.h"
#include "server/calls/convert/convert.h"
#include "server/errors/status.h"
#include "server/limits/client_id.h"
#include "server/limits/early_refusal.h"
#include "server/limits/priority.h"
#include "server/observability/log.h"

namespace trivium {
namespace {

constexpr size_t kMaxRequestIdBytes = 128;

bool IsRequestId(std::string_view id) {
  return !id.empty() && id.size() <= kMaxRequestIdBytes &&
         std::all_of(id.begin(), id.end(),
                     [](char c) { return c > ' ' && c < 0x7f; });
}

std::string RequestId(const std::string& given) {
  if (IsRequestId(given)) return given;
  return fmt::format("{:016x}{:016x}", RandomBits(), RandomBits());
}

}  // namespace

Ending EndEarly(const Environment& environment, Rpc rpc, CallContext context,
                const absl::Status& status) {
  Call call(environment, std::move(context), rpc);
  return call.Close(call.admitted().ok() ? status : call.admitted());
}

Call::Call(const Environment& environment, CallContext context, Rpc rpc)
    : environment_(environment),
      context_(std::move(context)),
      rpc_(rpc),
      started_(environment.clock->Now()),
      request_id_(RequestId(context_.request_id)),
      trace_(environment.tracer == nullptr
                 ? nullptr
                 : environment.tracer->Begin(
                       ParseTraceContext(context_.traceparent,
                                         context_.tracestate),
                       started_)),
      deadline_(DeadlineOf(environment.limits, rpc, context_, started_)),
      sender_(SenderOf(context_)),
      batcher_call_(context_.in_transit != 0 ? context_.in_transit
                                             : environment.batcher->NewCall()),
      cancellation_(std::make_shared<Cancellation>()) {
  environment_.metrics->OnCallStarted(rpc_);
  if (!environment_.calls->Begin()) {
    admitted_ = absl::UnavailableError(
        "the server is stopping; send the call to another one");
  } else {
    admitted_ = context_.access;
    if (admitted_.ok()) admitted_ = ParsePriority(context_.priority).status();
  }
}

// Not in Close(): the call's resources are in use until its handler goes.
Call::~Call() { environment_.calls->End(); }

absl::Status Call::FindModel(const std::string& name) {
  TRIVIUM_ASSIGN_OR_RETURN(model_, environment_.models.Find(name));
  if (MayUse(*model_)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      fmt::format("the token of '{}' does not allow model '{}'; it allows {}",
                  context_.grant->rules().name, model_->name,
                  fmt::join(context_.grant->rules().models, ", ")));
}

absl::Status Call::FindAllowedModel(const std::string& name) {
  const absl::Status found = FindModel(name);
  if (found.ok() || !name.empty()) return found;
  for (const ModelHandle& model : environment_.models.List()) {
    if (!MayUse(*model) ||
        model->model->info().design != Design::kEncoderDecoder) {
      continue;
    }
    model_ = model;
    return absl::OkStatus();
  }
  return found;
}

bool Call::MayUse(const ServedModel& model) const {
  return context_.grant == nullptr || context_.grant->MayUse(model.name);
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
  environment_.tokenizing->Run(this, text_bytes, std::move(work));
}

void Call::RunDelivery(int64_t bytes, std::function<void()> work) const {
  environment_.delivery->Run(this, bytes, std::move(work));
}

absl::Status Call::CheckAdmission() const {
  return trivium::CheckAdmission(environment_.batcher, model_.get(), sender_,
                                 batcher_call_, deadline_);
}

absl::Status Call::Wanted() const {
  WorkPool::GiveWay();
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
      trace_ == nullptr ? nullptr : trace_->NewRound(requests.size());
  for (Request& request : requests) {
    if (request.model == nullptr) request.model = model_;
    request.client = sender_.client;
    request.priority = sender_.priority;
    request.deadline = deadline_;
    request.cancellation = cancellation_;
    request.phases = phases;
  }
  const Submission submission =
      environment_.batcher->Submit(batcher_call_, std::move(requests));
  const absl::Status& status = submission.status;
  if (absl::IsResourceExhausted(status)) {
    return WithRetry(status, submission.retry_after);
  }
  if (absl::IsInvalidArgument(status) && submission.request >= 0) {
    return InvalidField(field_of(submission.request),
                        std::string(status.message()));
  }
  return status;
}

void Call::AddTokenizing(absl::Time begin, absl::Time end) {
  tokenize_ += end - begin;
  if (trace_ != nullptr) trace_->AddTokenizing(begin, end);
}

void Call::AddResult(const RequestResult& result, const ServedModel* model) {
  ++results_;
  queue_ = std::max(queue_, result.queue_time);
  inference_ = std::max(inference_, result.inference_time);
  int64_t generated = 0;
  for (const Hypothesis& hypothesis : result.hypotheses) {
    generated += static_cast<int64_t>(hypothesis.ids.size());
  }
  source_tokens_ += result.source_tokens;
  generated_tokens_ += generated;
  environment_.metrics->OnTokens(model == nullptr ? *model_ : *model,
                                 result.source_tokens, generated);
}

v1::Timings Call::timings() const {
  v1::Timings timings;
  *timings.mutable_queue() = ConvertDuration(queue_);
  *timings.mutable_tokenize() = ConvertDuration(tokenize_);
  *timings.mutable_inference() = ConvertDuration(inference_);
  *timings.mutable_total() =
      ConvertDuration(environment_.clock->Now() - started_);
  return timings;
}

v1::ModelVersion Call::model_version() const {
  v1::ModelVersion version;
  version.set_name(model_->name);
  version.set_revision(model_->model->info().revision);
  return version;
}

Ending Call::Close(absl::Status status) {
  const absl::Time now = environment_.clock->Now();
  const absl::Duration total = now - started_;
  if (context_.in_transit != 0)
    environment_.batcher->RemoveInTransit(batcher_call_);
  status = AsClientSees(std::move(status), now);
  environment_.metrics->OnCallDone(rpc_, model_.get(), status.code(), total);
  if (trace_ != nullptr) {
    environment_.tracer->End(
        trace_.get(),
        {.rpc = rpc_,
         .http_method = context_.http_method,
         .http_route = context_.http_route,
         .http_status =
             context_.http_status == nullptr ? 0 : context_.http_status(status),
         .model = model_ == nullptr ? std::string_view() : model_->name,
         .code = status.code(),
         .source_tokens = source_tokens_,
         .generated_tokens = generated_tokens_},
        now);
  }
  LogEnd(status, total);
  AuditEnd(status, now);
  TellRefusals(status, now);
  return {std::move(status), request_id_};
}

absl::Status Call::AsClientSees(absl::Status status, absl::Time now) const {
  // The deadline came with the call, rounded up, so the client gives up a
  // little earlier: within a sixteenth of the call's time, or 2 ms.
  const absl::Duration early =
      std::max((deadline_ - started_) / 16, absl::Milliseconds(2));
  if (status.ok() ? now >= deadline_
                  : absl::IsCancelled(status) && now >= deadline_ - early) {
    return absl::DeadlineExceededError(
        "the call's deadline passed before it ended");
  }
  return status;
}

std::string Call::TraceId() const {
  if (trace_ != nullptr) return absl::BytesToHexString(trace_->trace_id());
  const auto caller = ParseTraceContext(context_.traceparent, "");
  return caller ? absl::BytesToHexString(caller->trace_id) : "";
}

void Call::TellRefusals(const absl::Status& status, absl::Time now) const {
  if (environment_.refusals == nullptr) return;
  if (absl::IsResourceExhausted(status) || absl::IsUnavailable(status)) {
    environment_.refusals->Count(now, std::string(status.message()));
  } else {
    environment_.refusals->Tick(now);
  }
}

// Nothing that a client sent but its names, and no message of an error, which
// may quote a text.
void Call::AuditEnd(const absl::Status& status, absl::Time now) const {
  if (environment_.audit == nullptr) return;
  environment_.audit->Write(
      now,
      {{"client", Shorten(context_.client_key.empty() ? context_.peer
                                                      : context_.client_key)},
       {"peer", context_.peer},
       {"request_id", request_id_},
       {"trace_id", TraceId()},
       {"call", RpcName(rpc_)},
       {"model", model_ == nullptr ? std::string() : model_->name},
       {"status", absl::StatusCodeToString(status.code())},
       {"results", results_},
       {"source_tokens", source_tokens_},
       {"generated_tokens", generated_tokens_},
       {"milliseconds", absl::ToDoubleMilliseconds(now - started_)}});
}

void Call::LogEnd(const absl::Status& status, absl::Duration total) const {
  // The server's own faults are for its operator, the rest for those who
  // look into a call.
  const LogLevel level = status.code() == absl::StatusCode::kInternal
                             ? spdlog::level::err
                             : spdlog::level::debug;
  if (!LogEnabled(level)) return;
  const auto ms = [](absl::Duration time) {
    return absl::ToDoubleMilliseconds(time);
  };
  Log(level, "request",
      {{"request_id", request_id_},
       {"trace_id", TraceId()},
       {"peer", context_.peer},
       {"rpc", RpcName(rpc_)},
       {"model", model_ == nullptr ? std::string() : model_->name},
       {"code", absl::StatusCodeToString(status.code())},
       {"error", std::string(status.message())},
       {"results", results_},
       {"source_tokens", source_tokens_},
       {"generated_tokens", generated_tokens_},
       {"queue_ms", ms(queue_)},
       {"tokenize_ms", ms(tokenize_)},
       {"inference_ms", ms(inference_)},
       {"total_ms", ms(total)}});
}

}  // namespace trivium
