#ifndef TRIVIUM_CLIENT_LOAD_ARRIVALS_H_
#define TRIVIUM_CLIENT_LOAD_ARRIVALS_H_

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace trivium {

// The times at which calls are meant to start, in order. They do not depend on
// the server.
class Arrivals {
 public:
  virtual ~Arrivals() = default;
  virtual absl::Time next() const = 0;
  // Moves next() to the following call.
  virtual void Advance() = 0;
};

// A rate in calls per second that is constant at first, changes linearly to
// another rate and stays there.
struct RateCurve {
  double from = 0, to = 0;
  absl::Duration flat = absl::ZeroDuration();  // at `from`
  absl::Duration ramp = absl::ZeroDuration();  // from `from` to `to`

  // Returns the time by which the expected number of calls is `calls`;
  // infinite: never.
  absl::Duration TimeOf(double calls) const;
};

// Calls of independent users: a Poisson process. The same seed gives the same
// times on every machine.
class PoissonArrivals : public Arrivals {
 public:
  PoissonArrivals(RateCurve curve, uint64_t seed, absl::Time start);
  absl::Time next() const override { return start_ + curve_.TimeOf(calls_); }
  void Advance() override;

 private:
  const RateCurve curve_;
  const absl::Time start_;
  std::mt19937_64 random_;
  double calls_ = 0;  // the expected number up to next()
};

// Bursts: `size` calls at once, at `first` and every `period` after it.
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
  int begun_ = 0;  // calls of the burst at next_ that have started
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_ARRIVALS_H_
