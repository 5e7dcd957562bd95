#ifndef TRIVIUM_SERVER_BATCHING_NEWCOMERS_SHARE_H_
#define TRIVIUM_SERVER_BATCHING_NEWCOMERS_SHARE_H_

#include <algorithm>
#include <cstdint>

namespace trivium {

// Returns the seconds of an iteration that belong to newcomers, if w of them
// wait, r requests run, and an iteration's other work recently took s seconds:
//
//   min(clamp(w / r, 1/4, 4) s, 0.1)
//
// Work for newcomers delays the next token of all running requests; postponed
// work delays the first token of all waiting ones. Both delays count alike: few
// newcomers are hardly felt, and a batch that shrank while many wait fills up
// again. If nothing runs, or s is unknown, the result is 0.1 s; then the worker
// looks for newcomers and cancellations again.
inline double NewcomersSeconds(int64_t waiting, int64_t running,
                               double other_seconds) {
  constexpr double kLeastShare = 0.25;
  constexpr double kMostShare = 4;
  constexpr double kMostSeconds = 0.1;
  if (running <= 0 || other_seconds <= 0) return kMostSeconds;
  const double share =
      std::clamp(static_cast<double>(waiting) / static_cast<double>(running),
                 kLeastShare, kMostShare);
  return std::min(kMostSeconds, share * other_seconds);
}

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_NEWCOMERS_SHARE_H_
