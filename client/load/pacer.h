#ifndef TRIVIUM_CLIENT_LOAD_PACER_H_
#define TRIVIUM_CLIENT_LOAD_PACER_H_

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace trivium {

// When requests start: a pure policy, asked by the runner's loop.
class Pacer {
 public:
  virtual ~Pacer() = default;
  // When the next request is meant to start; not later than `now`: at once.
  // InfiniteFuture: not before one of those in flight ends.
  virtual absl::Time NextStart(absl::Time now, int in_flight) = 0;
  // The request of NextStart was started.
  virtual void Started() {}
};

// Closed loop: always this many in flight. Measures what a server can do; its
// latencies say little, since a slow server is asked less.
class ClosedPacer : public Pacer {
 public:
  explicit ClosedPacer(int concurrency) : concurrency_(concurrency) {}
  absl::Time NextStart(absl::Time now, int in_flight) override;

 private:
  const int concurrency_;
};

// Open loop: independent users, who come as a Poisson process of `rate` a
// second, whatever the server does. The same seed gives the same times on
// every machine.
class PoissonPacer : public Pacer {
 public:
  // At most `max_in_flight` at once; later ones then start late, but their
  // times still count from when they were meant to start.
  PoissonPacer(double rate, uint64_t seed, int max_in_flight, absl::Time start);
  absl::Time NextStart(absl::Time now, int in_flight) override;
  void Started() override;

 private:
  const double rate_;
  const int max_in_flight_;
  std::mt19937_64 random_;
  absl::Time next_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_PACER_H_
