#ifndef TRIVIUM_SERVER_BATCHING_SERVICE_RATE_H_
#define TRIVIUM_SERVER_BATCHING_SERVICE_RATE_H_

#include <cstdint>

#include "absl/time/time.h"

namespace trivium {

// Measures the tokens a second (of RequestCost) that the workers do for one
// model while more requests wait than they have room for. With fewer requests
// their throughput shows the demand and not the capacity: such times must not
// be recorded, and the last rate stays valid. Not thread-safe.
class ServiceRate {
 public:
  explicit ServiceRate(int workers) : workers_(workers) {}

  // Records the tokens that one worker did in `time`.
  void Observe(int64_t tokens, absl::Duration time);

  // The rate of all workers together; 0 while too little was recorded.
  double PerSecond() const;

 private:
  const int workers_;
  // Decaying sums.
  double tokens_ = 0;
  double seconds_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SERVICE_RATE_H_
