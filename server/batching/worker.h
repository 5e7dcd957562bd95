#ifndef TRIVIUM_SERVER_BATCHING_WORKER_H_
#define TRIVIUM_SERVER_BATCHING_WORKER_H_

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/batching/admission.h"
#include "server/batching/dispatcher.h"
#include "server/batching/running_batch.h"

namespace trivium {

// What the batcher's front and its workers share. Held only for bookkeeping:
// never while an engine steps or an observer is called.
struct BatcherState {
  BatcherState(int models, int workers, int64_t quantum,
               int64_t max_waiting_tokens)
      : dispatcher(models, workers, quantum), admission(max_waiting_tokens) {}

  Mutex mutex;
  CondVar work;      // something waits in the queue, or the phase changed
  CondVar answered;  // unanswered has become 0
  Dispatcher dispatcher ABSL_GUARDED_BY(mutex);
  Admission admission ABSL_GUARDED_BY(mutex);
  int64_t unanswered ABSL_GUARDED_BY(mutex) = 0;  // accepted requests
  int idle_workers ABSL_GUARDED_BY(mutex) = 0;
  // Ever onwards: each includes those before it.
  enum class Phase { kServing, kDraining, kCancelling, kExiting };
  Phase phase ABSL_GUARDED_BY(mutex) = Phase::kServing;
};

// A thread that runs its batches, one a model, in turns: between two
// iterations it drops what nobody waits for any more and takes newcomers from
// the queue; without work it sleeps. The thread ends in Phase::kExiting, when
// all has been answered; the destructor waits for that.
class Worker {
 public:
  // `state` outlives the worker; `observer` may be null.
  Worker(int index, std::vector<std::unique_ptr<RunningBatch>> batches,
         const Clock* clock, BatchingObserver* observer, BatcherState* state);
  ~Worker() { thread_.join(); }

 private:
  enum class Next { kIterate, kAbort, kAnswerDropped, kExit };

  void Run();
  // Sleeps until there is something to do. kIterate: with next_batch_.
  Next Decide();
  // Tells the others what was answered since the last time.
  void Account() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Moves what nobody waits for, or all when cancelling, to dropped_.
  void DropWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Finds the next batch with work, newcomers included.
  bool FillNextBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void Fill(int model) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void Sleep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void NoteQueue(int model) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void AnswerDropped();
  void ReportQueues();

  const int index_;
  const std::vector<std::unique_ptr<RunningBatch>> batches_;  // [models]
  const Clock* const clock_;
  BatchingObserver* const observer_;
  BatcherState* const state_;

  // What has been noted of a model's queue for the observer.
  struct QueueLength {
    int64_t tokens = 0;
    int64_t requests = 0;
    bool changed = false;
  };

  // The thread's own.
  int next_model_ = 0;
  RunningBatch* next_batch_ = nullptr;
  std::vector<DroppedRequest> dropped_;
  int64_t dropped_answered_ = 0;       // and not yet accounted
  std::vector<uint64_t> source_keys_;  // scratch
  std::vector<QueueLength> queues_;    // [models]

  std::thread thread_;  // last: it uses the members above
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_WORKER_H_
