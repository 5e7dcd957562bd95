#ifndef TRIVIUM_CLIENT_LOAD_PACER_H_
#define TRIVIUM_CLIENT_LOAD_PACER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "client/load/arrivals.h"

namespace trivium {

// Decides when requests start. A pure policy that the runner's loop asks.
class Pacer {
 public:
  virtual ~Pacer() = default;
  // Returns when the next request is meant to start. A time up to `now` means
  // at once; InfiniteFuture means not before a request in flight ends.
  virtual absl::Time NextStart(absl::Time now, int in_flight) = 0;
  // Records that the request of NextStart has started.
  virtual void Started() {}
};

// Closed loop: always the same number of requests in flight. Measures what a
// server can do. Its latencies say little, since a slow server gets fewer
// requests.
class ClosedPacer : public Pacer {
 public:
  explicit ClosedPacer(int concurrency) : concurrency_(concurrency) {}
  absl::Time NextStart(absl::Time now, int in_flight) override;

 private:
  const int concurrency_;
};

// Open loop: merges several streams of arrivals.
class OpenPacer : public Pacer {
 public:
  // At most `max_in_flight` requests run at once. Others start late; their
  // latencies still count from when they were meant to start.
  OpenPacer(std::vector<std::unique_ptr<Arrivals>> arrivals, int max_in_flight);
  absl::Time NextStart(absl::Time now, int in_flight) override;
  void Started() override;

 private:
  Arrivals& First() const;

  const std::vector<std::unique_ptr<Arrivals>> arrivals_;
  const int max_in_flight_;
};

// Settings of the pacing. A closed loop, unless a rate, a ramp or bursts are
// set.
struct Pacing {
  struct Ramp {
    double from, to;      // calls per second; the warm-up has `from`
    absl::Duration time;  // counted from the end of the warm-up
  };
  struct Burst {
    int size;
    absl::Duration period;  // the first burst is at the end of the warm-up
  };

  int concurrency = 32;  // requests in flight, in a closed loop
  double rate = 0;       // calls per second; 0: none
  std::optional<Ramp> ramp;
  std::optional<Burst> burst;  // in addition to the rate or the ramp
  int max_in_flight = 10000;   // in an open loop
  uint64_t seed = 1;

  bool open() const { return rate > 0 || ramp || burst; }
};
std::unique_ptr<Pacer> MakePacer(const Pacing& pacing, absl::Time start,
                                 absl::Duration warm_up);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_PACER_H_
