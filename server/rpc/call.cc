#include "server/rpc/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string_view>

#include "server/observability/log.h"
#include "server/rpc/status.h"

namespace trivium {
namespace {

constexpr size_t kMaxRequestIdBytes = 128;
// version-trace id-parent id-flags: 2 + 32 + 16 + 2 hex digits (W3C Trace
// Context).
constexpr size_t kTraceparentBytes = 55;

std::string_view Metadata(const grpc::CallbackServerContext& context,
                          const char* key) {
  const auto& metadata = context.client_metadata();
  const auto entry = metadata.find(key);
  if (entry == metadata.end()) return {};
  return {entry->second.data(), entry->second.size()};
}

bool IsRequestId(std::string_view id) {
  return !id.empty() && id.size() <= kMaxRequestIdBytes &&
         std::all_of(id.begin(), id.end(),
                     [](char c) { return c > ' ' && c < 0x7f; });
}

std::string RequestId(const grpc::CallbackServerContext& context) {
  const std::string_view given = Metadata(context, "x-request-id");
  if (IsRequestId(given)) return std::string(given);
  thread_local std::mt19937_64 random((uint64_t{std::random_device{}()} << 32) ^
                                      std::random_device{}());
  return fmt::format("{:016x}{:016x}", random(), random());
}

std::string Traceparent(const grpc::CallbackServerContext& context) {
  const std::string_view given = Metadata(context, "traceparent");
  const bool valid =
      given.size() == kTraceparentBytes &&
      given.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
  return valid ? std::string(given) : "";
}

absl::Time Deadline(const grpc::CallbackServerContext& context,
                    absl::Time started, absl::Duration otherwise) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) {
    return started + otherwise;
  }
  return absl::FromChrono(deadline);
}

bool IsStream(Rpc rpc) {
  return rpc == Rpc::kGenerate || rpc == Rpc::kTranslateStream;
}

google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration proto;
  const int64_t nanos =
      std::max<int64_t>(0, absl::ToInt64Nanoseconds(duration));
  proto.set_seconds(nanos / 1'000'000'000);
  proto.set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  return proto;
}

}  // namespace

Call::Call(const Environment& environment, grpc::CallbackServerContext* context,
           Rpc rpc)
    : environment_(environment),
      context_(context),
      rpc_(rpc),
      started_(environment.clock->Now()),
      request_id_(RequestId(*context)),
      traceparent_(Traceparent(*context)),
      deadline_(Deadline(*context, started_,
                         IsStream(rpc)
                             ? environment.limits.default_stream_deadline
                             : environment.limits.default_deadline)),
      cancellation_(std::make_shared<Cancellation>()) {
  environment_.metrics->OnCallStarted(rpc_);
  if (!environment_.calls->Begin()) {
    admitted_ = absl::UnavailableError(
        "the server is stopping; send the call to another one");
  }
}

// Not in Close(): the call's resources are in use until its reactor goes.
Call::~Call() { environment_.calls->End(); }

absl::Status Call::Wanted() const {
  if (cancellation_->cancelled()) {
    return absl::CancelledError("the client cancelled the call");
  }
  if (environment_.clock->Now() >= deadline_) {
    return absl::DeadlineExceededError(
        "the call's deadline passed before its work began");
  }
  return absl::OkStatus();
}

void Call::AddResult(const RequestResult& result) {
  ++results_;
  queue_ = std::max(queue_, result.queue_time);
  inference_ = std::max(inference_, result.inference_time);
  int64_t generated = 0;
  for (const Hypothesis& hypothesis : result.hypotheses) {
    generated += static_cast<int64_t>(hypothesis.ids.size());
  }
  source_tokens_ += result.source_tokens;
  generated_tokens_ += generated;
  environment_.metrics->OnTokens(model_->index, result.source_tokens,
                                 generated);
}

v1::Timings Call::timings() const {
  v1::Timings timings;
  *timings.mutable_queue() = ToProto(queue_);
  *timings.mutable_tokenize() = ToProto(tokenize_);
  *timings.mutable_inference() = ToProto(inference_);
  *timings.mutable_total() = ToProto(environment_.clock->Now() - started_);
  return timings;
}

v1::ModelVersion Call::model_version() const {
  v1::ModelVersion version;
  version.set_name(model_->name);
  version.set_revision(model_->model->info().revision);
  return version;
}

grpc::Status Call::Close(absl::Status status) {
  context_->AddTrailingMetadata("x-request-id", request_id_);
  if (const auto delay = RetryDelay(status)) {
    context_->AddTrailingMetadata(
        "grpc-retry-pushback-ms",
        fmt::format("{}",
                    std::max<int64_t>(1, absl::ToInt64Milliseconds(*delay))));
  }
  const absl::Duration total = environment_.clock->Now() - started_;
  environment_.metrics->OnCallDone(rpc_, model_ == nullptr ? -1 : model_->index,
                                   status.code(), total);
  LogEnd(status, total);
  return ToGrpcStatus(status, request_id_);
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
       {"traceparent", traceparent_},
       {"peer", context_->peer()},
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
