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

// A thread that runs its batches, one a model, in turns: between two
// iterations it drops what nobody waits for any more, fetches the engines of
// models that came, frees those of models that went, and takes newcomers from
// the queues; without work it sleeps. The thread ends in Phase::kExiting, when
// all has been answered; the destructor waits for that.
class Worker {
 public:
  // What `batching` says of worker and model is filled in. `state` outlives
  // the worker.
  Worker(int index, const RunningBatch::Options& batching, BatcherState* state);
  ~Worker() {
    if (thread_) thread_->join();
  }

  // Once. False where the system gives no thread.
  bool Start();

 private:
  enum class Next { kIterate, kAbort, kReport, kExit };

  // What this worker runs of one model.
  struct Served {
    std::shared_ptr<BatchedModel> model;
    std::unique_ptr<RunningBatch> batch;
    // What has been noted of its queue for the observer.
    int64_t queue_tokens = 0;
    int64_t queue_requests = 0;
    bool queue_changed = false;
    // What it does since then is measured.
    absl::Time since = absl::InfinitePast();
    bool left_waiting = false;  // there was not room for all that waits
  };

  void Run();
  // Sleeps until there is something to do. kIterate: with next_batch_;
  // kReport: nothing but what waits to be told or freed.
  Next Decide();
  // Tells the others what was answered and done since the last time.
  void Account() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Fetches engines of models that came, and moves what is done with to gone_.
  void FollowModels() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Moves what nobody waits for, or all when cancelling, to dropped_.
  void DropWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Those from dropped_[begin] on do not wait any more.
  void AccountDropped(size_t begin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Finds the next batch with work, newcomers included.
  bool FillNextBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void Fill(Served* served) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // Tells the forecast what runs.
  void SetRunning(const Served& served)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void Sleep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void NoteQueue(Served* served) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void AnswerDropped();
  void ReportQueues();

  const int index_;
  const RunningBatch::Options batching_;
  BatcherState* const state_;

  // The thread's own.
  BackgroundShare share_;
  std::list<Served> models_;  // the one whose turn it is comes first
  std::list<Served> gone_;    // to be freed without the lock
  RunningBatch* next_batch_ = nullptr;
  std::vector<DroppedRequest> dropped_;
  int64_t dropped_answered_ = 0;       // and not yet accounted
  std::vector<uint64_t> source_keys_;  // scratch

  std::optional<Thread> thread_;  // last: it uses the members above
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_WORKER_H_
