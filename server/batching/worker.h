#ifndef TRIVIUM_SERVER_BATCHING_WORKER_H_
#define TRIVIUM_SERVER_BATCHING_WORKER_H_

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "server/batching/background_share.h"
#include "server/batching/batcher_state.h"
#include "server/batching/running_batch.h"

namespace trivium {

// A thread that runs its batches, one for each model, in turns. Between two
// iterations it drops dead requests, fetches the engines of new models, frees
// those of removed models, and takes newcomers from the queues. Without work it
// sleeps. The thread ends in Phase::kExiting, after all requests are answered;
// the destructor waits for that.
class Worker {
 public:
  // The worker sets `batching`'s worker and model itself. `state` outlives the
  // worker.
  Worker(int index, const RunningBatch::Options& batching, BatcherState* state);
  ~Worker() {
    if (thread_) thread_->join();
  }

  // Call once. Returns false if the system cannot start a thread.
  bool Start();

 private:
  enum class Next { kIterate, kAbort, kReport, kExit };

  // One model on this worker.
  struct Served {
    std::shared_ptr<BatchedModel> model;
    std::unique_ptr<RunningBatch> batch;
    // State of the model's queue, for the observer.
    int64_t queue_tokens = 0;
    int64_t queue_requests = 0;
    bool queue_changed = false;
    // Begin of the time whose work is measured next.
    absl::Time since = absl::InfinitePast();
    bool left_waiting = false;  // there was no room for all waiting requests
  };

  void Run();
  // Sleeps until there is something to do, and returns it. kIterate: iterate
  // next_batch_. kAbort: abort all batches. kReport: answer dropped_ and free
  // gone_, then decide again.
  Next Decide();
  // Updates the shared state with the work since the last call: answered
  // requests, running rows, measured rates.
  void Account() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Fetches the engines of new models, and moves removed models without
  // requests to gone_.
  void FollowModels() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Moves dead requests from the queues to dropped_; all requests if the phase
  // is kCancelling.
  void DropWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Removes dropped_[begin..] from Admission.
  void AccountDropped(size_t begin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Sets next_batch_ to the next batch with work, after newcomers have joined.
  // Returns false if there is none.
  bool FillNextBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void Fill(Served* served) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Sets the running rows in the model's forecast.
  void SetRunning(const Served& served)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void Sleep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void NoteQueue(Served* served) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void AnswerDropped();
  void ReportQueues();

  const int index_;
  const RunningBatch::Options batching_;
  BatcherState* const state_;

  // Used only by the thread.
  BackgroundShare share_;
  std::list<Served> models_;  // the next one to iterate comes first
  std::list<Served> gone_;    // to be freed without the lock
  RunningBatch* next_batch_ = nullptr;
  std::vector<DroppedRequest> dropped_;
  int64_t dropped_answered_ = 0;       // not yet accounted
  std::vector<uint64_t> source_keys_;  // scratch

  std::optional<Thread> thread_;  // last: it uses the members above
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_WORKER_H_
