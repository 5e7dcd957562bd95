#include "server/limits/open_calls.h"

#include <algorithm>

#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr absl::Duration kCallsComeBack = absl::Seconds(1);

}  // namespace

OpenCalls::OpenCalls(int64_t limit_bytes, Metrics* metrics)
    : places_(std::max(kFewest, limit_bytes / kPartOfMemory / kBytesACall)),
      metrics_(metrics) {}

absl::StatusOr<std::unique_ptr<OpenCalls::Place>> OpenCalls::Admit(
    ClientId client) {
  if (places_.free_tokens(client, Priority::kInteractive) > 0) {
    places_.Add(client, 1);
    return std::make_unique<Place>(this, client);
  }
  metrics_->OnOverload("refused");
  refused_log_.Log(spdlog::level::warn,
                   "calls are refused: too many are open at a time");
  return WithRetry(
      absl::ResourceExhaustedError(
          "this client has as many open calls as the server has memory for; "
          "end some of them, or try again later"),
      kCallsComeBack);
}

}  // namespace trivium
