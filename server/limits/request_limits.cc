#include "server/limits/request_limits.h"

namespace trivium {

absl::Time DeadlineOf(const RequestLimits& limits, Rpc rpc,
                      const CallContext& context, absl::Time started) {
  const bool is_stream =
      rpc == Rpc::kGenerate || rpc == Rpc::kTranslateStream ||
      rpc == Rpc::kTranslateDocument || rpc == Rpc::kEncodeStream;
  return context.deadline.value_or(
      started +
      (is_stream ? limits.default_stream_deadline : limits.default_deadline));
}

}  // namespace trivium
