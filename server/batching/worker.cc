#include "server/batching/worker.h"

#include <utility>

namespace trivium {
namespace {

absl::Status ShutDownStatus() {
  return absl::UnavailableError("the server is shutting down");
}

}  // namespace

Worker::Worker(int index, std::vector<std::unique_ptr<RunningBatch>> batches,
               const Clock* clock, BatchingObserver* observer,
               BatcherState* state)
    : index_(index),
      batches_(std::move(batches)),
      clock_(clock),
      observer_(observer),
      state_(state),
      queues_(batches_.size()),
      thread_([this] { Run(); }) {}

void Worker::Run() {
  for (;;) {
    for (const auto& batch : batches_) {
      if (!batch->empty()) batch->DropDead();
    }
    const Next next = Decide();
    AnswerDropped();
    ReportQueues();
    switch (next) {
      case Next::kIterate:
        next_batch_->Iterate();
        break;
      case Next::kAbort:
        for (const auto& batch : batches_) batch->Abort(ShutDownStatus());
        break;
      case Next::kAnswerDropped:
        break;
      case Next::kExit:
        return;
    }
  }
}

Worker::Next Worker::Decide() {
  using enum BatcherState::Phase;
  MutexLock lock(&state_->mutex);
  for (;;) {
    Account();
    DropWaiting();
    if (state_->phase >= kCancelling) {
      for (const auto& batch : batches_) {
        if (!batch->empty()) return Next::kAbort;
      }
    } else if (FillNextBatch()) {
      return Next::kIterate;
    }
    if (!dropped_.empty()) return Next::kAnswerDropped;
    if (state_->phase == kExiting) return Next::kExit;
    Sleep();
  }
}

void Worker::Account() {
  int64_t answered = std::exchange(dropped_answered_, 0);
  for (const auto& batch : batches_) {
    batch->TakeAnswered(&source_keys_);
    answered += static_cast<int64_t>(source_keys_.size());
    for (const uint64_t key : source_keys_) {
      state_->dispatcher.Finished(index_, key);
    }
  }
  if (answered == 0) return;
  state_->unanswered -= answered;
  if (state_->unanswered == 0) state_->answered.SignalAll();
}

void Worker::DropWaiting() {
  const absl::Time now = clock_->Now();
  for (size_t model = 0; model < batches_.size(); ++model) {
    FairQueue& queue = state_->dispatcher.queue(static_cast<int>(model));
    const size_t before = dropped_.size();
    if (state_->phase >= BatcherState::Phase::kCancelling) {
      queue.DropAll(ShutDownStatus(), &dropped_);
    } else {
      queue.DropDead(now, &dropped_);
    }
    if (dropped_.size() == before) continue;
    for (size_t i = before; i < dropped_.size(); ++i) {
      state_->admission.Drop(dropped_[i].request->cost.tokens);
    }
    NoteQueue(static_cast<int>(model));
  }
}

bool Worker::FillNextBatch() {
  int64_t pending = 0;
  for (const auto& batch : batches_) pending += batch->pending_tokens();
  state_->dispatcher.BeginBoundary(index_, pending);
  const int models = static_cast<int>(batches_.size());
  for (int i = 0; i < models; ++i) {
    const int model = (next_model_ + i) % models;
    Fill(model);
    if (batches_[model]->empty()) continue;
    next_batch_ = batches_[model].get();
    next_model_ = (model + 1) % models;
    // What is left may be for a worker that sleeps: this one is busy now.
    if (state_->idle_workers > 0 && state_->dispatcher.waiting_requests() > 0) {
      state_->work.SignalAll();
    }
    return true;
  }
  return false;
}

void Worker::Fill(int model) {
  RunningBatch& batch = *batches_[model];
  const absl::Time now = clock_->Now();
  bool changed = false;
  state_->dispatcher.BeginPass(model);
  for (;;) {
    batch.set_waiting(state_->dispatcher.WaitingShare(model));
    std::unique_ptr<QueuedRequest> newcomer = state_->dispatcher.Take(
        index_, model,
        [&batch](QueuedRequest& request) { return batch.Judge(request); });
    if (newcomer == nullptr) break;
    state_->admission.Start(newcomer->cost.tokens, now);
    batch.Add(std::move(newcomer));
    changed = true;
  }
  if (changed) NoteQueue(model);
}

void Worker::Sleep() {
  ++state_->idle_workers;
  // Where there is a deadline, something waits for a worker that may be in a
  // long step.
  clock_->WaitUntil(state_->dispatcher.earliest_deadline(), &state_->work,
                    &state_->mutex);
  --state_->idle_workers;
}

void Worker::NoteQueue(int model) {
  const FairQueue& queue = state_->dispatcher.queue(model);
  queues_[model] = {queue.tokens(), queue.requests(), true};
}

void Worker::AnswerDropped() {
  for (DroppedRequest& dropped : dropped_) {
    const Request& request = dropped.request->request;
    if (observer_ != nullptr && absl::IsDeadlineExceeded(dropped.status)) {
      observer_->OnDeadlineMissed(request.model, "queued");
    }
    request.observer->OnDone(dropped.status);
  }
  dropped_answered_ += static_cast<int64_t>(dropped_.size());
  dropped_.clear();
}

void Worker::ReportQueues() {
  if (observer_ == nullptr) return;
  for (size_t model = 0; model < queues_.size(); ++model) {
    QueueLength& queue = queues_[model];
    if (!std::exchange(queue.changed, false)) continue;
    observer_->OnQueued(static_cast<int>(model), queue.tokens, queue.requests);
  }
}

}  // namespace trivium
