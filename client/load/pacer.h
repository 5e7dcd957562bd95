#ifndef TRIVIUM_CLIENT_LOAD_PACER_H_
#define TRIVIUM_CLIENT_LOAD_PACER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "client/load/arrivals.h"

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

// Open loop: whoever comes next of several streams of arrivals.
class OpenPacer : public Pacer {
 public:
  // At most `max_in_flight` at once; later ones then start late, but their
  // times still count from when they were meant to start.
  OpenPacer(std::vector<std::unique_ptr<Arrivals>> arrivals, int max_in_flight);
  absl::Time NextStart(absl::Time now, int in_flight) override;
  void Started() override;

 private:
  Arrivals& First() const;

  const std::vector<std::unique_ptr<Arrivals>> arrivals_;
  const int max_in_flight_;
};

// How calls are paced: a closed loop, unless a rate, a ramp or bursts are set.
struct Pacing {
  struct Ramp {
    double from, to;      // calls a second
    absl::Duration time;  // from the end of the warm-up on, which has `from`
  };
  struct Burst {
    int size;
    absl::Duration period;  // the first one at the end of the warm-up
  };

  int concurrency = 32;  // of a closed loop
  double rate = 0;       // calls a second; 0: none
  std::optional<Ramp> ramp;
  std::optional<Burst> burst;  // beside the rate or the ramp
  int max_in_flight = 10000;   // of an open loop
  uint64_t seed = 1;

  bool open() const { return rate > 0 || ramp || burst; }
};
std::unique_ptr<Pacer> MakePacer(const Pacing& pacing, absl::Time start,
                                 absl::Duration warm_up);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_PACER_H_
