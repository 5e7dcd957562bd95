#ifndef TRIVIUM_TESTS_SUPPORT_STEP_GATE_H_
#define TRIVIUM_TESTS_SUPPORT_STEP_GATE_H_

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace trivium {

// Lets a test step engines by hand: a closed gate holds every step at its
// beginning. One gate may hold several engines. Thread-safe.
class StepGate {
 public:
  // An engine's step begins: waits for its turn.
  void Pass() {
    MutexLock lock(&mutex_);
    ++held_;
    changed_.SignalAll();
    while (!open_ && allowed_ == 0) changed_.Wait(&mutex_);
    if (!open_) --allowed_;
    --held_;
  }

  // Until one of these, every step passes.
  void Close() {
    MutexLock lock(&mutex_);
    open_ = false;
  }
  void Open() {
    MutexLock lock(&mutex_);
    open_ = true;
    changed_.SignalAll();
  }

  // Waits until `engines` steps are held at the gate.
  void WaitHeld(int engines = 1) {
    MutexLock lock(&mutex_);
    // A step that was allowed through but has not left yet does not count.
    while (held_ - allowed_ < engines) changed_.Wait(&mutex_);
  }
  // Whether a step is held now.
  bool Holds() const {
    MutexLock lock(&mutex_);
    return held_ > allowed_;
  }
  // Lets one held step through and waits until the engine is at its next.
  void StepOnce() {
    WaitHeld();
    Allow(1);
    WaitHeld();
  }
  void Allow(int steps) {
    MutexLock lock(&mutex_);
    allowed_ += steps;
    changed_.SignalAll();
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  bool open_ ABSL_GUARDED_BY(mutex_) = true;
  int allowed_ ABSL_GUARDED_BY(mutex_) = 0;
  int held_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_STEP_GATE_H_
