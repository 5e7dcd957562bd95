#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_BARE_CALLS_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_BARE_CALLS_H_

#include <algorithm>

#include "absl/time/time.h"

namespace trivium {

// Paces the work that a client causes gRPC without a request: beginning calls
// whose message has not come, and ending connections that have open calls.
// gRPC 1.51 takes about 25 us for a call to begin, and as long to end, on the
// threads that read all connections. So whoever begins or ends thousands at
// once would hold up every other client. Shared by all connections; used by
// the relay's thread only.
//
//   balance' = min(kBurst, balance + kPerSecond x seconds) - calls
class BareCalls {
 public:
  // So many calls of a connection are not paced.
  static constexpr int kFree = 4;
  static constexpr double kPerSecond = 5'000;
  static constexpr double kBurst = 500;

  explicit BareCalls(absl::Time now) : counted_at_(now) {}

  // Returns true if another call may begin, or another connection end.
  bool Ready(absl::Time now) {
    balance_ = std::min(kBurst, balance_ + kPerSecond * absl::ToDoubleSeconds(
                                                            now - counted_at_));
    counted_at_ = now;
    return balance_ >= 0;
  }
  void Spend(double calls) { balance_ -= calls; }
  // The message of a call has come.
  void Return() { balance_ += 1; }
  // Returns when it will be ready.
  absl::Time ready_at() const {
    return counted_at_ + absl::Seconds(std::max(0.0, -balance_) / kPerSecond);
  }

 private:
  double balance_ = kBurst;
  absl::Time counted_at_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_BARE_CALLS_H_
