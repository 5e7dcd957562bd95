#ifndef TRIVIUM_CLIENT_LOAD_ABORT_PLAN_H_
#define TRIVIUM_CLIENT_LOAD_ABORT_PLAN_H_

#include <cstdint>
#include <map>

#include "absl/time/time.h"
#include "client/load/call_kind.h"

namespace trivium {

// Decides which calls the client aborts, and when. A pure policy. A call is
// aborted at a random point of the time that calls of its kind took lately; a
// call that is faster than that ends first.
class AbortPlan {
 public:
  // `share` of the calls, 0 .. 1, is aborted.
  AbortPlan(double share, uint64_t seed) : share_(share), seed_(seed) {}

  // Returns how long after its start call `number` is aborted;
  // InfiniteDuration: never.
  absl::Duration After(int64_t number, CallKind kind) const;
  // Records that a call ended by itself after `life`.
  void Ended(CallKind kind, absl::Duration life);

 private:
  const double share_;
  const uint64_t seed_;
  std::map<CallKind, absl::Duration> typical_;  // running mean of lives
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_ABORT_PLAN_H_
