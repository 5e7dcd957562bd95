#include "server/batching/rate_meter.h"

#include <algorithm>

namespace trivium {

int64_t RateMeter::BucketAt(absl::Time now) {
  return absl::ToUnixMillis(now) / absl::ToInt64Milliseconds(kBucket);
}

void RateMeter::Add(int64_t tokens, absl::Time now) {
  const int64_t number = BucketAt(now);
  const int bucket = static_cast<int>(number % kBuckets);
  if (numbers_[bucket] != number) {
    numbers_[bucket] = number;
    tokens_[bucket] = 0;
  }
  tokens_[bucket] += tokens;
  first_ = std::min(first_, now);
}

double RateMeter::PerSecond(absl::Time now) const {
  const int64_t newest = BucketAt(now);
  int64_t tokens = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    if (numbers_[bucket] > newest - kBuckets) tokens += tokens_[bucket];
  }
  if (tokens == 0) return 0;
  // A meter that has just begun has not seen the whole window; less than one
  // bucket of it would make a rate out of noise.
  const absl::Duration seen =
      std::clamp(now - first_, kBucket, kBuckets * kBucket);
  return tokens / absl::ToDoubleSeconds(seen);
}

}  // namespace trivium
