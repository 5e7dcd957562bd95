#ifndef TRIVIUM_SERVER_BATCHING_NEWCOMERS_SHARE_H_
#define TRIVIUM_SERVER_BATCHING_NEWCOMERS_SHARE_H_

#include <algorithm>
#include <cstdint>

namespace trivium {

// Seconds of an iteration that belong to newcomers, where w of them wait, r
// requests run, and an iteration's other work took s seconds lately:
//
//   min(clamp(w / r, 1/4, 4) s, 0.1)
//
// What is done for newcomers delays the next token of all that run; what is
// left undone delays the first token of all that wait. Both waits count alike:
// few newcomers are hardly felt, and a batch that has shrunk while many wait
// fills up again. Where nothing runs, or nothing is known of it, it is 0.1 s,
// after which newcomers and cancellations are seen again.
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
