#ifndef TRIVIUM_SERVER_BATCHING_SERVICE_RATE_H_
#define TRIVIUM_SERVER_BATCHING_SERVICE_RATE_H_

#include <cstdint>

#include "absl/time/time.h"

namespace trivium {

// Tokens a second (of RequestCost) that the workers do of one model while there
// is more to do than they have room for. What they do while there is less says
// how much is asked of them, not how much they can do, so it is not observed,
// and what was known before stays. Not thread-safe.
class ServiceRate {
 public:
  explicit ServiceRate(int workers) : workers_(workers) {}

  // A worker did so much in so much time.
  void Observe(int64_t tokens, absl::Duration time);

  // Of all workers; 0 while too little was observed.
  double PerSecond() const;

 private:
  const int workers_;
  // Sums that forget.
  double tokens_ = 0;
  double seconds_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SERVICE_RATE_H_
