#ifndef TRIVIUM_SERVER_BATCHING_REQUEST_PHASES_H_
#define TRIVIUM_SERVER_BATCHING_REQUEST_PHASES_H_

#include <string_view>

#include "absl/time/time.h"

namespace trivium {

// What a request is doing, in this order; it need not come to all of them.
enum class RequestPhase {
  kQueue,    // submitted, not begun
  kEncode,   // until its source is encoded, by whomever
  kPrefill,  // until the first token: reads what it is given, or all it scores
  kDecode,   // until its end, suspended or not
};
inline constexpr int kRequestPhases = 4;
inline std::string_view PhaseName(RequestPhase phase) {
  constexpr std::string_view kNames[kRequestPhases] = {"queue", "encode",
                                                       "prefill", "decode"};
  return kNames[static_cast<int>(phase)];
}

// Hears how long requests were in each phase, of workers, as each phase ends
// and before RequestObserver::OnDone. Thread-safe; must not block.
class PhaseListener {
 public:
  virtual ~PhaseListener() = default;
  virtual void OnPhase(RequestPhase phase, absl::Time begin,
                       absl::Time end) = 0;
};

// One request's way through its phases. Not thread-safe.
class PhaseTimes {
 public:
  // `listener` may be null, which costs nothing.
  PhaseTimes(PhaseListener* listener, absl::Time submitted)
      : listener_(listener), since_(submitted) {}

  // It is in this phase now. Where it once was in a later one, it still is:
  // what was suspended has its source encoded again.
  void Enter(RequestPhase phase, absl::Time now) {
    if (listener_ == nullptr || phase <= phase_) return;
    Tell(now);
    phase_ = phase;
    since_ = now;
  }
  // Once, the last.
  void End(absl::Time now) {
    if (listener_ != nullptr) Tell(now);
  }
  bool heard() const { return listener_ != nullptr; }

 private:
  void Tell(absl::Time now) const { listener_->OnPhase(phase_, since_, now); }

  PhaseListener* const listener_;
  RequestPhase phase_ = RequestPhase::kQueue;
  absl::Time since_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_REQUEST_PHASES_H_
