#ifndef TRIVIUM_SERVER_BATCHING_BATCHER_STATE_H_
#define TRIVIUM_SERVER_BATCHING_BATCHER_STATE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "model/engine.h"
#include "server/batching/admission.h"
#include "server/batching/batching_observer.h"
#include "server/batching/dispatcher.h"
#include "server/batching/forecast.h"
#include "server/batching/served_model.h"
#include "server/batching/step_listener.h"

namespace trivium {

// One served model in the batcher. The engines wait here until their workers
// fetch them. BatcherState::mutex guards all members but `model` and `limits`.
struct BatchedModel {
  explicit BatchedModel(int workers) : forecast(workers) {}

  ModelHandle model;
  EngineLimits limits;
  RequestQueue* queue = nullptr;  // in the dispatcher
  Forecast forecast;
  std::vector<std::unique_ptr<Engine>> engines;  // [workers]
  bool removed = false;                          // accepts no more requests
  int workers_serving = 0;  // workers that have not freed their engine
  int stalled_workers = 0;  // those of them whose step was given up

  // True if no worker computes the model now.
  bool stalled() const {
    return stalled_workers > 0 && stalled_workers == workers_serving;
  }
};

// The state that the batcher's front shares with its workers. The mutex is held
// only for bookkeeping: never while an engine steps or an observer is called.
//
// Life of a model: AddModel stores its engines, and each worker fetches its own
// at its next boundary between two iterations. Once the model is removed,
// nothing enters its queue. A worker without requests of the model frees its
// engine when the queue is empty, and the last worker to do so removes the
// model from here.
struct BatcherState {
  BatcherState(int workers, int64_t quantum, int64_t max_waiting_tokens)
      : dispatcher(workers, quantum), admission(max_waiting_tokens) {}

  Mutex mutex;
  CondVar work;      // requests wait, or the phase or the models changed
  CondVar answered;  // `unanswered` has become 0
  Dispatcher dispatcher ABSL_GUARDED_BY(mutex);
  Admission admission ABSL_GUARDED_BY(mutex);
  std::vector<std::shared_ptr<BatchedModel>> models ABSL_GUARDED_BY(mutex);
  int64_t unanswered ABSL_GUARDED_BY(mutex) = 0;  // accepted requests
  int idle_workers ABSL_GUARDED_BY(mutex) = 0;
  int stalled_steps ABSL_GUARDED_BY(mutex) = 0;  // of all workers
  // Only advances; each phase includes those before it.
  enum class Phase { kServing, kDraining, kCancelling, kExiting };
  Phase phase ABSL_GUARDED_BY(mutex) = Phase::kServing;

  // Tells the observer how much waits for the model now. Called without
  // `mutex`. What is told last is what was so last.
  void TellQueue(const BatchedModel& model, BatchingObserver* observer) {
    MutexLock order(&report_mutex);
    int64_t tokens = 0;
    int64_t requests = 0;
    {
      MutexLock lock(&mutex);
      // Otherwise the queue has been freed, and was empty.
      if (model.workers_serving > 0) {
        tokens = model.queue->tokens();
        requests = model.queue->requests();
      }
    }
    observer->OnQueued(*model.model, tokens, requests);
  }
  Mutex report_mutex;  // held while the observer hears of a queue

  // Called without `mutex`.
  void TellStall(const StepStall& stall, BatchingObserver* observer) {
    if (observer != nullptr) observer->OnStepStalled(stall);
    MutexLock lock(&listener_mutex);
    if (stall_listener != nullptr) stall_listener(stall);
  }
  Mutex listener_mutex;  // held while the listener is called
  std::function<void(const StepStall&)> stall_listener
      ABSL_GUARDED_BY(listener_mutex);
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_BATCHER_STATE_H_
