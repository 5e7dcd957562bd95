#ifndef TRIVIUM_SERVER_BATCHING_REQUEST_PHASES_H_
#define TRIVIUM_SERVER_BATCHING_REQUEST_PHASES_H_

#include <string_view>

#include "absl/time/time.h"

namespace trivium {

// The phases of a request as observers see them, in order; phases may be
// skipped.
enum class RequestPhase {
  kQueue,    // until it starts
  kEncode,   // until its source is encoded, for it or for another request
  kPrefill,  // until its first token: reads its prefix, or scores it
  kDecode,   // until its end, suspended or not
};
inline constexpr int kRequestPhases = 4;
inline std::string_view PhaseName(RequestPhase phase) {
  constexpr std::string_view kNames[kRequestPhases] = {"queue", "encode",
                                                       "prefill", "decode"};
  return kNames[static_cast<int>(phase)];
}

// Receives the times of each phase from the workers, at the end of the phase
// and before RequestObserver::OnDone. Thread-safe; must not block.
class PhaseListener {
 public:
  virtual ~PhaseListener() = default;
  virtual void OnPhase(RequestPhase phase, absl::Time begin,
                       absl::Time end) = 0;
};

// Tracks the phases of one request and reports them. Not thread-safe.
class PhaseTimes {
 public:
  // `listener` may be null; then nothing is done.
  PhaseTimes(PhaseListener* listener, absl::Time submitted)
      : listener_(listener), since_(submitted) {}

  // The request is in this phase now. Ignored if it already reached a later
  // phase: a suspended request has its source encoded again.
  void Enter(RequestPhase phase, absl::Time now) {
    if (listener_ == nullptr || phase <= phase_) return;
    Tell(now);
    phase_ = phase;
    since_ = now;
  }
  // The request ends; call once, last.
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
