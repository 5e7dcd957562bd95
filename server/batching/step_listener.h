#ifndef TRIVIUM_SERVER_BATCHING_STEP_LISTENER_H_
#define TRIVIUM_SERVER_BATCHING_STEP_LISTENER_H_

#include <cstdint>

#include "absl/time/time.h"
#include "server/batching/served_model.h"

namespace trivium {

class RunningBatch;

// Hears when the engine of a batch begins a step, and when it returns. Called
// on the thread that steps the engine.
class StepListener {
 public:
  virtual ~StepListener() = default;

  // `tokens`: those that the step puts through the whole model, at most.
  virtual void OnStepBegins(const RunningBatch& batch, int64_t tokens) = 0;
  // Returns true if the batch goes on. False: the step was given up meanwhile
  // (RunningBatch::GiveUpStep), and its results are of no use.
  virtual bool OnStepReturned(const RunningBatch& batch) = 0;
};

// A step that has not returned within its time, or returned after all.
struct StepStall {
  const ServedModel& model;
  int worker = 0;
  absl::Duration lasted;
  bool returned = false;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_STEP_LISTENER_H_
