#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_RESET_STREAMS_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_RESET_STREAMS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace trivium {

// Counts the streams that clients have reset and that the server is not done
// with. HTTP/2 counts a reset stream as closed at once, so its limit of open
// streams does not bound how many calls a client starts and drops ("rapid
// reset"). gRPC 1.51 keeps about 20 KB for each until its handler has ended.
class ResetStreams {
 public:
  // At this number, clients that reset streams are read no further.
  static constexpr int64_t kMost = 500;
  // Streams without a handler of ours (health, unknown methods) never call
  // OnDone; they are assumed to be done at this rate.
  static constexpr double kForgottenPerSecond = 1000;

  // Called on the relay's thread only.
  void OnReset(absl::Time now) {
    Count(now);
    left_ += 1;
  }
  bool Full(absl::Time now) {
    Count(now);
    return left_ >= kMost;
  }

  // The handler of a cancelled call has ended, or its last frame has passed.
  // Called on any thread.
  void OnDone() { done_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void Count(absl::Time now) {
    const double forgotten =
        kForgottenPerSecond * absl::ToDoubleSeconds(now - counted_at_);
    counted_at_ = now;
    left_ = std::max(
        0.0, left_ - forgotten - static_cast<double>(done_.exchange(0)));
  }

  std::atomic<int64_t> done_ = 0;  // since the last Count
  double left_ = 0;
  absl::Time counted_at_ = absl::UnixEpoch();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_RESET_STREAMS_H_
