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
#include "server/batching/step_listener.h"

namespace trivium {

// A thread that runs its batches, one for each model, in turns. Between two
// iterations it drops dead requests, fetches the engines of new models, frees
// those of removed models, and takes newcomers from the queues. Without work it
// sleeps. The thread ends in Phase::kExiting, after all requests are answered;
// the destructor waits for that.
//
// If an engine's step does not return in time, CheckStep answers the requests
// of its batch and starts another thread for the worker's other batches. The
// batch is set aside until its step returns. So each engine is only ever used
// by one thread, and each worker runs one iteration at a time besides the steps
// that do not return.
class Worker : private StepListener {
 public:
  // The worker sets `batching`'s worker, model and listener itself. A step may
  // last for `step_timeout` and what its tokens take on a slow machine; if that
  // is infinite, for ever. `state` outlives the worker.
  Worker(int index, const RunningBatch::Options& batching,
         absl::Duration step_timeout, BatcherState* state);
  ~Worker() override;

  // Call once. Returns false if the system cannot start a thread.
  bool Start();

  // Gives up the step under way if its time is over. Called again and again, by
  // one thread that is none of the worker's, and that stops before the
  // destructor.
  void CheckStep();

 private:
  enum class Next { kIterate, kAbort, kReport, kLeave, kExit };

  // One model on this worker.
  struct Served {
    std::shared_ptr<BatchedModel> model;
    std::unique_ptr<RunningBatch> batch;
    bool queue_changed = false;  // and the observer has not been told
    // Begin of the time whose work is measured next.
    absl::Time since = absl::InfinitePast();
    bool left_waiting = false;  // there was no room for all waiting requests
  };

  struct OwnThread {
    std::optional<Thread> thread;
    bool left = false;  // it has nothing more to do
  };

  // Starts a thread that owns the members below. Returns false if the system
  // starts none. Does not throw.
  bool StartOwnerThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void Run(OwnThread* self);
  void OnStepBegins(const RunningBatch& batch, int64_t tokens) override;
  bool OnStepReturned(const RunningBatch& batch) override;
  // Gives the members up: to a thread whose step has returned, if any.
  void Leave(OwnThread* self);
  // Waits for the ends of threads that have left.
  void JoinLeft();
  // Sleeps until there is something to do, and returns it. kIterate: iterate
  // next_batch_. kAbort: abort all batches. kReport: answer dropped_ and free
  // gone_, then decide again.
  Next Decide();
  // Updates the shared state with the work since the last call: answered
  // requests, running rows, measured rates.
  void Account() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Returns how many requests the batch has answered since the last call.
  int64_t AccountAnswered(RunningBatch* batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Fetches the engines of new models, and moves removed models without
  // requests to gone_.
  void FollowModels() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Moves dead requests from the queues to dropped_; all requests if the phase
  // is kCancelling, or if every worker's step of the model was given up.
  void DropWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void DropWaiting(absl::Time now, Served* served)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Removes dropped_[begin..] from Admission.
  void AccountDropped(size_t begin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Sets next_batch_ to the next batch with work, after newcomers have joined.
  // Returns false if there is none.
  bool FillNextBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Moves requests from the model's queue into its batch.
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
  const absl::Duration step_timeout_;
  BatcherState* const state_;

  // The step under way; null: none, or it was given up.
  const RunningBatch* stepping_ ABSL_GUARDED_BY(state_->mutex) = nullptr;
  absl::Time step_begin_ ABSL_GUARDED_BY(state_->mutex);
  absl::Time step_end_ ABSL_GUARDED_BY(state_->mutex);  // the latest
  // Batches whose steps were given up, each with the time that its step began.
  struct Stuck {
    std::list<Served> served;  // one
    absl::Time begin;
  };
  std::list<Stuck> stuck_ ABSL_GUARDED_BY(state_->mutex);
  // Threads that came back from a step that had been given up. Each waits until
  // it owns the members below.
  int returned_threads_ ABSL_GUARDED_BY(state_->mutex) = 0;
  // No thread owns the members: the owner has left, or none could be started.
  bool unowned_ ABSL_GUARDED_BY(state_->mutex) = false;
  CondVar handed_over_;  // unowned_ is true

  // Used only by the thread that owns them. A thread begins as their owner. It
  // loses them when its step is given up, to the thread that CheckStep starts,
  // and gets them back when its step has returned: then the other one leaves.
  BackgroundShare share_;
  std::list<Served> models_;  // the next one to iterate comes first
  std::list<Served> gone_;    // to be freed without the lock
  RunningBatch* next_batch_ = nullptr;
  std::vector<DroppedRequest> dropped_;
  int64_t dropped_answered_ = 0;       // not yet accounted
  std::vector<uint64_t> source_keys_;  // scratch

  // Last: they use the members above.
  std::list<OwnThread> threads_ ABSL_GUARDED_BY(state_->mutex);
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_WORKER_H_
