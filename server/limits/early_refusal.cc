#include "server/limits/early_refusal.h"

#include "server/errors/status.h"
#include "server/limits/client_id.h"

namespace trivium {
namespace {

// True if calls of this method wait for workers and are refused if that would
// take too long. Streams of requests read more slowly instead.
bool IsRefusedForTime(Rpc rpc) {
  switch (rpc) {
    case Rpc::kEncode:
    case Rpc::kTranslate:
    case Rpc::kGenerate:
    case Rpc::kScore:
    case Rpc::kClassify:
    case Rpc::kRerank:
    case Rpc::kSimilarity:
    case Rpc::kClassifyTokens:
    case Rpc::kFillMask:
    case Rpc::kAnswer:
    case Rpc::kModelInfer:
      return true;
    case Rpc::kTranslateStream:
    case Rpc::kTranslateDocument:
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

absl::Status CheckEarly(Batcher* batcher, const RequestLimits& limits, Rpc rpc,
                        const CallContext& context, absl::Time now) {
  if (!context.access.ok()) return context.access;
  if (!IsRefusedForTime(rpc)) return absl::OkStatus();
  if (context.deadline && *context.deadline <= now) {
    return absl::DeadlineExceededError(
        "the call's deadline had passed when it arrived");
  }
  return CheckAdmission(batcher, /*model=*/nullptr, SenderOf(context),
                        batcher->NewCall(),
                        DeadlineOf(limits, rpc, context, now));
}

absl::Status CheckAdmission(Batcher* batcher, const ServedModel* model,
                            Sender sender, CallId call, absl::Time deadline) {
  const Submission submission =
      batcher->CheckAdmission(model, sender, call, deadline);
  if (submission.ok()) return absl::OkStatus();
  return WithRetry(submission.status, submission.retry_after);
}

std::unique_ptr<CallInTransit> TrackCallInTransit(Batcher* batcher, Rpc rpc,
                                                  const CallContext& context) {
  if (!IsRefusedForTime(rpc)) return nullptr;
  return std::make_unique<CallInTransit>(batcher, SenderOf(context));
}

}  // namespace trivium
