#ifndef TRIVIUM_SERVER_BATCHING_BACKGROUND_SHARE_H_
#define TRIVIUM_SERVER_BATCHING_BACKGROUND_SHARE_H_

#include <cstdint>

#include "absl/time/time.h"

namespace trivium {

// Decides how much of a worker's time background requests get: interactive
// requests stay nearly as fast as alone, and background ones never stop.
// - Beside interactive requests, background ones earn kEarned of the time that
//   the interactive ones use, and pay for the time that they use themselves.
// - For kLately after the last interactive request, background iterations stay
//   short compared with an interactive request, because the next one may have
//   to wait for the end of an iteration.
// - Otherwise background requests get all the time.
// Not thread-safe: each worker has one for all its models.
class BackgroundShare {
 public:
  static constexpr double kEarned = 0.25;
  static constexpr absl::Duration kLately = absl::Seconds(30);

  // An interactive request starts to run.
  void Began() { ++running_; }
  // An interactive request stops running: it is answered or suspended.
  void Ended(absl::Time now) {
    --running_;
    last_ = now;
  }
  // An interactive request was answered after it had run for `took`.
  void Answered(absl::Duration took);
  // True if interactive requests run.
  bool beside_interactive() const { return running_ > 0; }

  // Seconds of the next iteration that background requests may use: 0 or less
  // means none, infinity means no bound. Their last piece of work may exceed
  // this, and is paid for later.
  double Seconds(absl::Time now) const;

  // Records an iteration beside interactive requests: its seconds, and the
  // part of them that background requests used.
  void Observe(double seconds, double background_seconds);

 private:
  double MostSeconds() const;

  int64_t running_ = 0;
  absl::Time last_ = absl::InfinitePast();
  double took_ = 0;    // mean seconds of interactive requests; 0: unknown
  double earned_ = 0;  // seconds; negative: a debt
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_BACKGROUND_SHARE_H_
