#ifndef TRIVIUM_CLIENT_LOAD_ABORT_PLAN_H_
#define TRIVIUM_CLIENT_LOAD_ABORT_PLAN_H_

#include <cstdint>
#include <map>

#include "absl/time/time.h"
#include "client/load/call_kind.h"

namespace trivium {

// Which calls their client gives up, and when: a pure policy. A call is given
// up at a random point of the time that calls of its kind lately took; one
// that is faster than that ends first.
class AbortPlan {
 public:
  // `share` of the calls, from 0 to 1.
  AbortPlan(double share, uint64_t seed) : share_(share), seed_(seed) {}

  // How long after its start call `number` is given up; InfiniteDuration: it
  // is not.
  absl::Duration After(int64_t number, CallKind kind) const;
  // A call ended by itself after this time.
  void Ended(CallKind kind, absl::Duration life);

 private:
  const double share_;
  const uint64_t seed_;
  std::map<CallKind, absl::Duration> typical_;  // lives, a running mean
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_ABORT_PLAN_H_
