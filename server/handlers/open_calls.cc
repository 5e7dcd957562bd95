// The places are shared as the queue's tokens are
// (server/batching/admission.cc): a client has at most 8 times what is left,
// and, where the first ones leave too little, its share of an eighth beyond the
// limit.
#include "server/handlers/open_calls.h"

#include <algorithm>

#include "server/handlers/status.h"

namespace trivium {
namespace {

constexpr absl::Duration kCallsComeBack = absl::Seconds(1);
constexpr int64_t kTimesWhatIsLeft = 8;
constexpr int64_t kPartBeyond = 8;

}  // namespace

OpenCalls::OpenCalls(int64_t limit_bytes, Metrics* metrics)
    : most_(std::max(kFewest, limit_bytes / kPartOfMemory / kBytesACall)),
      metrics_(metrics) {}

absl::StatusOr<std::unique_ptr<OpenCalls::Place>> OpenCalls::Take(
    ClientId client) {
  if (HasRoom(client)) {
    ++open_;
    ++of_client_[client];
    return std::make_unique<Place>(this, client);
  }
  metrics_->OnOverload("refused");
  refused_log_.Log(spdlog::level::warn,
                   "calls are refused: too many are open at a time");
  return WithRetry(
      absl::ResourceExhaustedError(
          "this client has as many calls open as the server has memory for: "
          "end some of them, or come back later"),
      kCallsComeBack);
}

bool OpenCalls::HasRoom(ClientId client) const {
  const auto found = of_client_.find(client);
  const int64_t own = found == of_client_.end() ? 0 : found->second;
  const auto clients = static_cast<int64_t>(of_client_.size()) + (own == 0);
  return own < kTimesWhatIsLeft * (most_ - open_) ||
         own < most_ / (kPartBeyond * clients);
}

void OpenCalls::Free(ClientId client) {
  --open_;
  const auto found = of_client_.find(client);
  if (--found->second == 0) of_client_.erase(found);
}

}  // namespace trivium
