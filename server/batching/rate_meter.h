#ifndef TRIVIUM_SERVER_BATCHING_RATE_METER_H_
#define TRIVIUM_SERVER_BATCHING_RATE_METER_H_

#include <array>
#include <cstdint>

#include "absl/time/time.h"

namespace trivium {

// Tokens a second over the last five seconds. Not thread-safe; times given
// must not run backwards by more than the window.
class RateMeter {
 public:
  void Add(int64_t tokens, absl::Time now);

  // 0 when nothing was added within the window.
  double PerSecond(absl::Time now) const;

 private:
  static constexpr int kBuckets = 10;
  static constexpr absl::Duration kBucket = absl::Milliseconds(500);

  static int64_t BucketAt(absl::Time now);

  // Bucket i holds the tokens of the half second numbers_[i].
  std::array<int64_t, kBuckets> tokens_{};
  std::array<int64_t, kBuckets> numbers_{};
  absl::Time first_ = absl::InfiniteFuture();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_RATE_METER_H_
