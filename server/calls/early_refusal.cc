#include "server/calls/early_refusal.h"

#include <utility>

#include "server/calls/call.h"
#include "server/limits/client_id.h"

namespace trivium {
namespace {

// True if calls of this method wait for workers and are refused when that would
// take too long. Streams of items read more slowly instead.
bool IsRefusedForTime(Rpc rpc) {
  switch (rpc) {
    case Rpc::kEncode:
    case Rpc::kTranslate:
    case Rpc::kGenerate:
    case Rpc::kScore:
    case Rpc::kClassify:
    case Rpc::kRerank:
    case Rpc::kClassifyTokens:
    case Rpc::kFillMask:
    case Rpc::kAnswer:
    case Rpc::kModelInfer:
      return true;
    case Rpc::kTranslateStream:
    case Rpc::kEncodeStream:
    case Rpc::kTokenize:
    case Rpc::kDetokenize:
    case Rpc::kListModels:
    case Rpc::kGetModel:
    case Rpc::kLoadModel:
    case Rpc::kReloadModel:
    case Rpc::kUnloadModel:
      return false;
  }
  return false;
}

}  // namespace

std::optional<Ending> RefuseEarly(const Environment& environment, Rpc rpc,
                                  CallContext context) {
  if (!context.access.ok()) {
    Call call(environment, std::move(context), rpc);
    return call.Close(call.admitted());
  }
  if (!IsRefusedForTime(rpc)) return std::nullopt;
  const absl::Status status =
      context.deadline && *context.deadline <= environment.clock->Now()
          ? absl::DeadlineExceededError(
                "the call's deadline had passed when it came")
          : CheckAdmission(environment, rpc, context);
  if (status.ok()) return std::nullopt;
  return EndEarly(environment, rpc, std::move(context), status);
}

Ending EndEarly(const Environment& environment, Rpc rpc, CallContext context,
                const absl::Status& status) {
  Call call(environment, std::move(context), rpc);
  return call.Close(call.admitted().ok() ? status : call.admitted());
}

std::unique_ptr<ExpectedCall> ExpectCall(const Environment& environment,
                                         Rpc rpc, const CallContext& context) {
  if (!IsRefusedForTime(rpc)) return nullptr;
  return std::make_unique<ExpectedCall>(environment.batcher, SenderOf(context));
}

}  // namespace trivium
