#ifndef TRIVIUM_CLIENT_LOAD_ARRIVALS_H_
#define TRIVIUM_CLIENT_LOAD_ARRIVALS_H_

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace trivium {

// The times at which calls come, whatever the server does, in order.
class Arrivals {
 public:
  virtual ~Arrivals() = default;
  virtual absl::Time next() const = 0;
  // To the one after next().
  virtual void Advance() = 0;
};

// A rate, in calls a second, that stays as it is for a while, goes evenly to
// another and then stays there.
struct RateCurve {
  double from = 0, to = 0;
  absl::Duration flat = absl::ZeroDuration();  // at `from`
  absl::Duration ramp = absl::ZeroDuration();  // from `from` to `to`

  // When so many calls are expected to have come; infinite: never.
  absl::Duration TimeOf(double calls) const;
};

// Independent users: a Poisson process. The same seed gives the same times on
// every machine.
class PoissonArrivals : public Arrivals {
 public:
  PoissonArrivals(RateCurve curve, uint64_t seed, absl::Time start);
  absl::Time next() const override { return start_ + curve_.TimeOf(calls_); }
  void Advance() override;

 private:
  const RateCurve curve_;
  const absl::Time start_;
  std::mt19937_64 random_;
  double calls_ = 0;  // expected until the next one
};

// `size` calls at once, at `first` and every `period` after it.
class BurstArrivals : public Arrivals {
 public:
  BurstArrivals(int size, absl::Duration period, absl::Time first)
      : size_(size), period_(period), next_(first) {}
  absl::Time next() const override { return next_; }
  void Advance() override;

 private:
  const int size_;
  const absl::Duration period_;
  absl::Time next_;
  int begun_ = 0;  // of the burst at next_
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_ARRIVALS_H_
