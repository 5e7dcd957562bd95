#ifndef TRIVIUM_MODEL_TRANSFORMER_PHASE_TIMER_H_
#define TRIVIUM_MODEL_TRANSFORMER_PHASE_TIMER_H_

#include <chrono>

#include "model/engine.h"

namespace trivium {

// Splits a step's time among its phases: End(phase) adds the time since the
// last End (or Start) to that phase.
class PhaseTimer {
 public:
  void Start() {
    seconds_ = {};
    last_ = Now();
  }
  void End(double PhaseSeconds::*phase) {
    const double now = Now();
    seconds_.*phase += now - last_;
    last_ = now;
  }
  const PhaseSeconds& seconds() const { return seconds_; }

 private:
  static double Now() {
    return std::chrono::duration<double>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  PhaseSeconds seconds_;
  double last_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_PHASE_TIMER_H_
