#ifndef TRIVIUM_SERVER_BATCHING_BACKGROUND_SHARE_H_
#define TRIVIUM_SERVER_BATCHING_BACKGROUND_SHARE_H_

#include <cstdint>

#include "absl/time/time.h"

namespace trivium {

// How much of a worker's time background requests get, so that interactive ones
// are nearly as fast as alone, and background requests never stand still:
// - beside interactive requests they earn kEarned of the time that these take,
//   and pay for what they take themselves;
// - for kLately after the last interactive request, their iterations are short
//   beside what such a request takes, since the next one may have to wait for
//   the end of one;
// - else all of it.
// Not thread-safe: one worker's, of all its models.
class BackgroundShare {
 public:
  static constexpr double kEarned = 0.25;
  static constexpr absl::Duration kLately = absl::Seconds(30);

  // An interactive request runs from now on, or, being answered or suspended,
  // does not any more.
  void Began() { ++running_; }
  void Ended(absl::Time now) {
    --running_;
    last_ = now;
  }
  // One was answered, after it had run for so long.
  void Answered(absl::Duration took);
  // Whether interactive requests run.
  bool beside_interactive() const { return running_ > 0; }

  // What background requests may take of the next iteration: 0 or less is
  // nothing, infinity as much as they like. The last of what they do may take
  // longer, and is paid for later.
  double Seconds(absl::Time now) const;

  // An iteration beside interactive requests took so long, and of that for
  // background requests.
  void Observe(double seconds, double background_seconds);

 private:
  double MostSeconds() const;

  int64_t running_ = 0;
  absl::Time last_ = absl::InfinitePast();
  double took_ = 0;    // an interactive request lately, seconds; 0: not known
  double earned_ = 0;  // seconds; below 0: owed
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_BACKGROUND_SHARE_H_
