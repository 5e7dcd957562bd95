// A turn of the loop in Run:
//   1. without the lock: DropDead answers dead requests of the running batches
//   2. with it (Decide): account for what was answered, fetch and give up
//      models, drop dead requests from the queues, then take newcomers
//   3. without it: answer what was dropped, free the engines of removed models
//   4. without it: one iteration of one batch
//
// Always:
// - No observer is called and no engine steps or is freed with the lock held.
//   So everything that Decide finds is noted (dropped_, queue_changed, gone_)
//   and carried out afterwards.
// - `unanswered` is lowered only after OnDone has returned. So when Drain sees
//   0, all answers have arrived.
// - Batches of several models take turns by iterations: Decide moves the model
//   that it looked at to the end of the list. A batch with only background
//   requests is passed over while interactive requests of other models run and
//   BackgroundShare has no time left.
// - A worker that leaves requests waiting wakes idle workers, since it is busy
//   for the length of a step. An idle worker wakes up at the earliest deadline
//   in the queues, because the other workers may be in long steps then.
// - A step that was given up changes hands like this: CheckStep, with the lock,
//   moves its batch to stuck_; then it answers the batch's requests as the
//   members' owner; then a new thread owns them. Whoever returns from such a
//   step waits in OnStepReturned until the owner, between two iterations, gives
//   the members back and leaves.
// - The rate of a model is measured only over times that leave requests waiting
//   or in which calls were refused as late (ServiceRate).
#include "server/batching/worker.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/time/clock.h"
#include "base/exceptions.h"
#include "base/thread.h"

namespace trivium {
namespace {

// Made once, in Decide: nothing catches what Abort throws.
absl::Status ShutDownStatus() {
  static const auto* const status =
      new absl::Status(absl::UnavailableError("the server is shutting down"));
  return *status;
}

// A worker that has no memory for its own lists looks again after this time.
constexpr absl::Duration kNoMemoryPause = absl::Milliseconds(1);

// A slow machine reads so many bytes of weights in a second, for one token.
constexpr double kSlowBytesPerSecond = 1e9;

absl::Duration SlowTime(const ServedModel& model, int64_t tokens) {
  if (model.model == nullptr) return absl::ZeroDuration();
  return absl::Seconds(static_cast<double>(model.model->info().weight_bytes) *
                       static_cast<double>(tokens) / kSlowBytesPerSecond);
}

}  // namespace

Worker::Worker(int index, const RunningBatch::Options& batching,
               absl::Duration step_timeout, BatcherState* state)
    : index_(index),
      batching_(batching),
      step_timeout_(step_timeout),
      state_(state) {}

Worker::~Worker() {
  std::list<OwnThread> threads;
  {
    MutexLock lock(&state_->mutex);
    threads.swap(threads_);
  }
  for (OwnThread& one : threads) one.thread->join();
}

bool Worker::Start() {
  MutexLock lock(&state_->mutex);
  return StartOwnerThread();
}

bool Worker::StartOwnerThread() {
  std::list<OwnThread> added;
  CatchExceptions([&] {
    OwnThread* const self = &added.emplace_back();
    self->thread = StartThread([this, self] { Run(self); });
  }).IgnoreError();
  if (added.empty() || !added.front().thread.has_value()) return false;
  threads_.splice(threads_.end(), added);
  return true;
}

void Worker::JoinLeft() {
  std::list<OwnThread> left;
  {
    MutexLock lock(&state_->mutex);
    for (auto one = threads_.begin(); one != threads_.end();) {
      const auto next = std::next(one);
      if (one->left) left.splice(left.end(), threads_, one);
      one = next;
    }
  }
  for (OwnThread& one : left) one.thread->join();
}

void Worker::CheckStep() {
  JoinLeft();
  const absl::Time now = batching_.clock->Now();
  RunningBatch* batch = nullptr;
  std::shared_ptr<BatchedModel> model;
  absl::Duration lasted;
  std::list<Stuck> place;  // all the memory that is needed
  place.emplace_back();
  {
    MutexLock lock(&state_->mutex);
    if (stepping_ != nullptr && step_end_ <= now) {
      const auto served =
          std::find_if(models_.begin(), models_.end(),
                       [stepping = stepping_](const Served& one) {
                         return one.batch.get() == stepping;
                       });
      stepping_ = nullptr;
      lasted = now - step_begin_;
      model = served->model;
      batch = served->batch.get();
      stuck_.splice(stuck_.end(), place);
      Stuck& stuck = stuck_.back();
      stuck.begin = step_begin_;
      stuck.served.splice(stuck.served.begin(), models_, served);
      ++model->stalled_workers;
      ++state_->stalled_steps;
    } else if (!std::exchange(unowned_, false)) {
      return;
    }
  }
  // This thread owns the members here.
  if (batch != nullptr) {
    absl::Status status = NoMemoryStatus();
    CatchExceptions([&] {
      status = StalledStatus(model->model->name);
    }).IgnoreError();
    batch->GiveUpStep(status);
  }
  {
    MutexLock lock(&state_->mutex);
    if (!StartOwnerThread()) {
      // The next call tries again, unless the step returns before.
      unowned_ = true;
      handed_over_.SignalAll();
    }
  }
  if (batch != nullptr) {
    state_->TellStall({*model->model, index_, lasted}, batching_.observer);
  }
}

void Worker::OnStepBegins(const RunningBatch& batch, int64_t tokens) {
  if (step_timeout_ == absl::InfiniteDuration()) return;
  const absl::Time now = batching_.clock->Now();
  MutexLock lock(&state_->mutex);
  stepping_ = &batch;
  step_begin_ = now;
  step_end_ = now + step_timeout_ + SlowTime(batch.model(), tokens);
}

bool Worker::OnStepReturned(const RunningBatch& batch) {
  if (step_timeout_ == absl::InfiniteDuration()) return true;
  std::shared_ptr<BatchedModel> model;
  absl::Duration lasted;
  {
    MutexLock lock(&state_->mutex);
    if (stepping_ == &batch) {
      stepping_ = nullptr;
      return true;
    }
    ++returned_threads_;
    state_->work.SignalAll();
    while (!unowned_) handed_over_.Wait(&state_->mutex);
    unowned_ = false;
    --returned_threads_;
    const auto stuck =
        std::find_if(stuck_.begin(), stuck_.end(), [&](const Stuck& one) {
          return one.served.front().batch.get() == &batch;
        });
    lasted = batching_.clock->Now() - stuck->begin;
    model = stuck->served.front().model;
    models_.splice(models_.end(), stuck->served);
    stuck_.erase(stuck);
    --model->stalled_workers;
    --state_->stalled_steps;
  }
  CatchExceptions([&] {
    state_->TellStall({*model->model, index_, lasted, /*returned=*/true},
                      batching_.observer);
  }).IgnoreError();
  return false;
}

void Worker::Run(OwnThread* self) {
  for (;;) {
    std::optional<Next> next;
    const absl::Status status = CatchExceptions([&] {
      for (Served& served : models_) {
        if (!served.batch->empty()) served.batch->DropDead();
      }
      next = Decide();
    });
    if (next == Next::kLeave) return Leave(self);
    AnswerDropped();
    CatchExceptions([this] { ReportQueues(); }).IgnoreError();
    gone_.clear();
    if (!status.ok()) {
      // There may be memory in a while. Meanwhile requests wait.
      absl::SleepFor(kNoMemoryPause);
      continue;
    }
    switch (*next) {
      case Next::kIterate:
        next_batch_->Iterate();
        break;
      case Next::kAbort:
        for (Served& served : models_) served.batch->Abort(ShutDownStatus());
        break;
      case Next::kReport:
        break;
      case Next::kLeave:
      case Next::kExit:
        return Leave(self);
    }
  }
}

void Worker::Leave(OwnThread* self) {
  MutexLock lock(&state_->mutex);
  self->left = true;
  unowned_ = true;
  handed_over_.SignalAll();
}

Worker::Next Worker::Decide() {
  using enum BatcherState::Phase;
  MutexLock lock(&state_->mutex);
  for (;;) {
    if (returned_threads_ > 0) return Next::kLeave;
    Account();
    FollowModels();
    DropWaiting();
    if (state_->phase >= kCancelling) {
      for (const Served& served : models_) {
        if (!served.batch->empty()) return Next::kAbort;
      }
    } else if (FillNextBatch()) {
      return Next::kIterate;
    }
    if (!dropped_.empty() || !gone_.empty()) return Next::kReport;
    if (state_->phase == kExiting) return Next::kExit;
    Sleep();
  }
}

void Worker::Account() {
  int64_t answered = std::exchange(dropped_answered_, 0);
  const absl::Time now = batching_.clock->Now();
  for (Served& served : models_) {
    Forecast& forecast = served.model->forecast;
    SetRunning(served);
    if (const int64_t done = served.batch->TakeDone(); done > 0) {
      if (served.left_waiting || forecast.last_refusal() >= served.since) {
        forecast.Observe(done, now - served.since);
      }
      served.since = now;
    }
    answered += AccountAnswered(served.batch.get());
  }
  for (Stuck& stuck : stuck_) {
    Served& served = stuck.served.front();
    const int64_t of_step = AccountAnswered(served.batch.get());
    if (of_step == 0) continue;
    answered += of_step;
    for (const Priority priority :
         {Priority::kInteractive, Priority::kBackground}) {
      served.model->forecast.SetRunning(index_, priority, 0);
    }
  }
  if (answered == 0) return;
  state_->unanswered -= answered;
  if (state_->unanswered == 0) state_->answered.SignalAll();
}

int64_t Worker::AccountAnswered(RunningBatch* batch) {
  batch->TakeAnswered(&source_keys_);
  for (const uint64_t key : source_keys_) {
    state_->dispatcher.Finished(index_, key);
  }
  return static_cast<int64_t>(source_keys_.size());
}

void Worker::FollowModels() {
  for (const std::shared_ptr<BatchedModel>& model : state_->models) {
    std::unique_ptr<Engine>& engine = model->engines[index_];
    if (engine == nullptr) continue;
    RunningBatch::Options options = batching_;
    options.model = model->model;
    options.worker = index_;
    options.share = &share_;
    options.steps = this;
    // Without memory the engine stays, and is fetched another time.
    std::list<Served> added;
    added.emplace_back().model = model;
    added.front().batch =
        std::make_unique<RunningBatch>(options, std::move(engine));
    models_.splice(models_.end(), added);
  }
  for (auto served = models_.begin(); served != models_.end();) {
    const auto next = std::next(served);
    BatchedModel* const model = served->model.get();
    if (model->removed && served->batch->empty() &&
        model->queue->requests() == 0) {
      if (--model->workers_serving == 0) {
        state_->dispatcher.RemoveQueue(model->queue);
        std::erase(state_->models, served->model);
      }
      gone_.splice(gone_.end(), models_, served);
    }
    served = next;
  }
}

void Worker::DropWaiting() {
  const absl::Time now = batching_.clock->Now();
  for (Served& served : models_) DropWaiting(now, &served);
  for (Stuck& stuck : stuck_) DropWaiting(now, &stuck.served.front());
}

void Worker::DropWaiting(absl::Time now, Served* served) {
  RequestQueue& queue = *served->model->queue;
  const size_t before = dropped_.size();
  const absl::Cleanup account = [&] {  // if memory ends, too
    state_->mutex.AssertHeld();
    if (dropped_.size() == before) return;
    AccountDropped(before);
    NoteQueue(served);
  };
  if (state_->phase >= BatcherState::Phase::kCancelling) {
    queue.DropAll(ShutDownStatus(), &dropped_);
  } else if (served->model->stalled()) {
    queue.DropAll(StalledStatus(served->model->model->name), &dropped_);
  } else {
    queue.DropDead(now, &dropped_);
  }
}

void Worker::AccountDropped(size_t begin) {
  for (size_t i = begin; i < dropped_.size(); ++i) {
    state_->admission.Remove(dropped_[i].request->request.client,
                             dropped_[i].request->cost.tokens);
  }
}

bool Worker::FillNextBatch() {
  Dispatcher::Pending pending;
  for (const Served& served : models_) {
    const RunningBatch& batch = *served.batch;
    pending.tokens += batch.pending_tokens(Priority::kBackground);
    pending.interactive_tokens += batch.pending_tokens(Priority::kInteractive);
  }
  state_->dispatcher.BeginBoundary(index_, pending);
  for (size_t i = 0; i < models_.size(); ++i) {
    Served& served = models_.front();
    Fill(&served);
    models_.splice(models_.end(), models_, models_.begin());
    if (served.batch->empty()) continue;
    // Interactive requests of other models run, and background ones have no
    // time left.
    if (share_.beside_interactive() &&
        served.batch->requests(Priority::kInteractive) == 0 &&
        share_.Seconds(batching_.clock->Now()) <= 0) {
      continue;
    }
    next_batch_ = served.batch.get();
    // This worker is busy now; idle ones may take the waiting requests.
    if (state_->idle_workers > 0 && state_->dispatcher.waiting_requests() > 0) {
      state_->work.SignalAll();
    }
    return true;
  }
  return false;
}

void Worker::Fill(Served* served) {
  RequestQueue* const queue = served->model->queue;
  RunningBatch* const batch = served->batch.get();
  Dispatcher& dispatcher = state_->dispatcher;
  const absl::Time now = batching_.clock->Now();
  Forecast* const forecast = &served->model->forecast;
  const size_t dropped = dropped_.size();
  const int64_t waiting = queue->requests();
  const absl::Cleanup account = [&] {  // if memory ends, too
    state_->mutex.AssertHeld();
    AccountDropped(dropped);
    served->left_waiting = queue->requests() > 0;
    if (queue->requests() != waiting) NoteQueue(served);
  };
  if (batch->empty()) served->since = now;
  queue->BeginPass();
  for (;;) {
    batch->set_waiting(
        dispatcher.WaitingShare(queue->requests()),
        dispatcher.WaitingShare(queue->of(Priority::kInteractive).requests()));
    std::unique_ptr<QueuedRequest> newcomer = dispatcher.Dequeue(
        index_, queue,
        [=](QueuedRequest& queued) {
          const Request& request = queued.request;
          if (now + forecast->TimeIfStarted(queued.cost, request.priority) >
              request.deadline) {
            return FairQueue::Verdict::kDrop;
          }
          return batch->CanJoin(queued);
        },
        &dropped_, batch->wants_background());
    if (newcomer == nullptr) return;
    const ClientId client = newcomer->request.client;
    const int64_t tokens = newcomer->cost.tokens;
    const uint64_t source_key = newcomer->source_key;
    const absl::Status status =
        CatchExceptions([&] { batch->Add(std::move(newcomer)); });
    if (!status.ok()) {
      // Dequeue has made a place for it.
      dispatcher.Finished(index_, source_key);
      dropped_.push_back({std::move(newcomer), status});
      continue;
    }
    state_->admission.Remove(client, tokens);
    SetRunning(*served);
  }
}

void Worker::SetRunning(const Served& served) {
  const RunningBatch& batch = *served.batch;
  const int64_t interactive = batch.running_rows(Priority::kInteractive);
  served.model->forecast.SetRunning(index_, Priority::kInteractive,
                                    interactive);
  served.model->forecast.SetRunning(
      index_, Priority::kBackground,
      batch.running_rows(Priority::kBackground) - interactive);
}

void Worker::Sleep() {
  ++state_->idle_workers;
  // A deadline means that a request waits for another worker, which may be in a
  // long step; then this worker drops the request in time.
  batching_.clock->WaitUntil(state_->dispatcher.earliest_deadline(),
                             &state_->work, &state_->mutex);
  --state_->idle_workers;
}

void Worker::NoteQueue(Served* served) {
  served->queue_changed = true;
  // The model is removed, so idle workers can free its engine now.
  if (served->model->removed && served->model->queue->requests() == 0) {
    state_->work.SignalAll();
  }
}

void Worker::AnswerDropped() {
  for (DroppedRequest& dropped : dropped_) {
    const Request& request = dropped.request->request;
    CatchExceptions([&] {
      if (batching_.observer != nullptr &&
          absl::IsDeadlineExceeded(dropped.status)) {
        batching_.observer->OnDeadlineMissed(*request.model, "queued");
      }
      if (request.phases != nullptr) {
        request.phases->OnPhase(RequestPhase::kQueue,
                                dropped.request->submitted,
                                batching_.clock->Now());
      }
    }).IgnoreError();
    request.observer->OnDone(dropped.status);
  }
  dropped_answered_ += static_cast<int64_t>(dropped_.size());
  dropped_.clear();
}

void Worker::ReportQueues() {
  if (batching_.observer == nullptr) return;
  const auto report = [this](Served* served) {
    if (!std::exchange(served->queue_changed, false)) return;
    state_->TellQueue(*served->model, batching_.observer);
  };
  for (Served& served : models_) report(&served);
  for (Served& served : gone_) report(&served);
  std::vector<Served*> stuck;  // set aside until this thread has left
  {
    MutexLock lock(&state_->mutex);
    for (Stuck& one : stuck_) stuck.push_back(&one.served.front());
  }
  for (Served* served : stuck) report(served);
}

}  // namespace trivium
