#include "server/calls/call_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/exceptions.h"
#include "base/random_bits.h"
#include "server/errors/status.h"
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

CallRecord::CallRecord(const Environment& environment,
                       const CallContext& context, Rpc rpc)
    : environment_(environment),
      context_(context),
      rpc_(rpc),
      started_(environment.clock->Now()),
      request_id_(RequestId(context_.request_id)),
      trace_(environment.tracer == nullptr
                 ? nullptr
                 : environment.tracer->Begin(
                       ParseTraceContext(context_.traceparent,
                                         context_.tracestate),
                       started_)) {
  environment_.metrics->OnCallStarted(rpc_);
}

CallRecord::~CallRecord() {
  if (!ended_) End(NoMemoryStatus(), nullptr, started_);
}

std::shared_ptr<PhaseListener> CallRecord::NewRound(size_t requests) const {
  return trace_ == nullptr ? nullptr : trace_->NewRound(requests);
}

void CallRecord::AddTokenizing(absl::Time begin, absl::Time end) {
  tokenize_ += end - begin;
  if (trace_ != nullptr) trace_->AddTokenizing(begin, end);
}

void CallRecord::AddResult(const RequestResult& result,
                           const ServedModel& model) {
  ++results_;
  queue_ = std::max(queue_, result.queue_time);
  inference_ = std::max(inference_, result.inference_time);
  int64_t generated = 0;
  for (const Hypothesis& hypothesis : result.hypotheses) {
    generated += static_cast<int64_t>(hypothesis.ids.size());
  }
  source_tokens_ += result.source_tokens;
  generated_tokens_ += generated;
  environment_.metrics->OnTokens(model, result.source_tokens, generated);
}

CallTimings CallRecord::timings() const {
  return {.queue = queue_,
          .tokenize = tokenize_,
          .inference = inference_,
          .total = environment_.clock->Now() - started_};
}

void CallRecord::End(const absl::Status& status, const ServedModel* model,
                     absl::Time now) {
  ended_ = true;
  const absl::Duration total = now - started_;
  // Without memory, a report is lost.
  CatchExceptions([&] {
    environment_.metrics->OnCallDone(rpc_, model, status.code(), total);
  }).IgnoreError();
  CatchExceptions([&] {
    const std::string name = model == nullptr ? std::string() : model->name;
    EndTrace(status, name, now);
    AuditEnd(status, name, now);
    LogEnd(status, name, total);
    CountRefusal(status, now);
  }).IgnoreError();
}

void CallRecord::EndTrace(const absl::Status& status, const std::string& model,
                          absl::Time now) {
  if (trace_ == nullptr) return;
  environment_.tracer->End(
      trace_.get(),
      {.rpc = rpc_,
       .http_method = context_.http_method,
       .http_route = context_.http_route,
       .http_status =
           context_.http_status == nullptr ? 0 : context_.http_status(status),
       .model = model,
       .code = status.code(),
       .source_tokens = source_tokens_,
       .generated_tokens = generated_tokens_},
      now, environment_.clock->WallTime(now) - now);
}

std::string CallRecord::TraceId() const {
  if (trace_ != nullptr) return absl::BytesToHexString(trace_->trace_id());
  const auto caller = ParseTraceContext(context_.traceparent, "");
  return caller ? absl::BytesToHexString(caller->trace_id) : "";
}

void CallRecord::CountRefusal(const absl::Status& status,
                              absl::Time now) const {
  if (environment_.refusals == nullptr) return;
  if (absl::IsResourceExhausted(status) || absl::IsUnavailable(status)) {
    environment_.refusals->Count(now, std::string(status.message()));
  } else {
    environment_.refusals->Tick(now);
  }
}

// Writes only names that the client sent. An error's message is left out, since
// it may quote a text.
void CallRecord::AuditEnd(const absl::Status& status, const std::string& model,
                          absl::Time now) const {
  if (environment_.audit == nullptr) return;
  environment_.audit->Write(
      environment_.clock->WallTime(now),
      {{"client", Shorten(context_.client_key.empty() ? context_.peer
                                                      : context_.client_key)},
       {"peer", context_.peer},
       {"request_id", request_id_},
       {"trace_id", TraceId()},
       {"call", RpcName(rpc_)},
       {"model", model},
       {"status", absl::StatusCodeToString(status.code())},
       {"results", results_},
       {"source_tokens", source_tokens_},
       {"generated_tokens", generated_tokens_},
       {"milliseconds", absl::ToDoubleMilliseconds(now - started_)}});
}

// The server's own faults are errors, for its operator. All other ends are for
// those who look into a call.
void CallRecord::LogEnd(const absl::Status& status, const std::string& model,
                        absl::Duration total) const {
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
       {"model", model},
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
