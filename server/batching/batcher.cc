// Submit is the only way into the queues, in four steps:
//   1. FindModels    under the lock: whose queue each request goes to
//   2. Check         without it: could an empty worker run each request?
//   3. Enqueue       under the lock, at one moment: forecast, admission, push
//   4. Report...     without it: the observer is told
// The check is the long step, and depends on nothing that changes. So the lock
// is held briefly, and Enqueue looks again at whatever may have changed
// meanwhile: the phase, and models that were removed.
//
// Always:
// - A call is accepted as a whole: either all its requests are in their models'
//   queues and in Admission, or none is. Only if memory ends in between, those
//   that have no place are answered at once.
// - `unanswered` is the number of accepted requests whose observers have not
//   received OnDone, as far as the workers have accounted for them. Drain waits
//   for it to be 0.
// - A call in in_transit_ counts in every model's queue, because its model is
//   not known yet; AddModel passes the calls on to a new queue.
// - The phase only advances (Enter).
#include "server/batching/batcher.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "base/clock.h"
#include "base/exceptions.h"
#include "base/status.h"
#include "base/thread.h"
#include "fmt/format.h"
#include "server/batching/caching_batcher.h"
#include "server/batching/refusals.h"
#include "server/batching/request_checks.h"
#include "server/batching/request_cost.h"
#include "server/batching/source_sharing.h"
#include "server/batching/worker.h"

namespace trivium {
namespace {

// Between two looks at the workers' steps, at most.
constexpr absl::Duration kMostWatchInterval = absl::Seconds(1);

// Quantum of the deficit round robin: about the worst case of one sentence.
constexpr int64_t kQuantumTokens = 256;

absl::Status CheckOptions(const Batcher::Options& options) {
  const std::pair<const char*, int64_t> numbers[] = {
      {"workers", options.workers},
      {"max_waiting_tokens", options.max_waiting_tokens},
      {"encode_budget_tokens", options.encode_budget_tokens},
      {"max_rows", options.max_rows}};
  if (options.step_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("step_timeout must be more than 0");
  }
  for (const auto& number : numbers) {
    if (number.second >= 1) continue;
    return absl::InvalidArgumentError(
        fmt::format("{} is {}: give at least 1", number.first, number.second));
  }
  return absl::OkStatus();
}

absl::Status NotServed(const ServedModel& model) {
  return absl::NotFoundError(
      fmt::format("the model '{}' is not served any more", model.name));
}

class ThreadedBatcher : public Batcher {
 public:
  explicit ThreadedBatcher(const Options& options);
  ~ThreadedBatcher() override;
  // RESOURCE_EXHAUSTED: the system cannot start so many threads.
  absl::Status Start();

  absl::Status AddModel(ModelHandle model, Engines engines) override;
  absl::Status RemoveModel(const ServedModel& model) override;
  bool Serves(const ServedModel& model) const override;
  CallId NewCall() override { return next_call_++; }
  Submission Submit(CallId call, std::vector<Request> requests) override;
  Submission CheckAdmission(const ServedModel* model, Sender sender,
                            CallId call, absl::Time deadline) override;
  void AddInTransit(CallId call, Sender sender) override;
  void RemoveInTransit(CallId call) override;
  int64_t free_waiting_tokens(Sender sender) const override;
  int stalled_steps() const override {
    MutexLock lock(&state_.mutex);
    return state_.stalled_steps;
  }
  void ListenForStalls(
      std::function<void(const StepStall&)> listener) override {
    MutexLock lock(&state_.listener_mutex);
    state_.stall_listener = std::move(listener);
  }
  bool Drain(absl::Duration timeout) override;

 private:
  using Phase = BatcherState::Phase;
  using Models = std::vector<std::shared_ptr<BatchedModel>>;
  using Waiting = std::vector<std::unique_ptr<QueuedRequest>>;

  // Returns null if the model is not served.
  std::shared_ptr<BatchedModel> Find(const ServedModel& model) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex);
  // Sets `models` to the model of each request: [requests].
  Submission FindModels(std::span<const Request> requests,
                        Models* models) const;
  Submission Check(std::span<const Request> requests,
                   const Models& models) const;
  // Pushes all requests into their models' queues, or none. If memory ends
  // after the first of them, the call is accepted, and `waiting` keeps the
  // requests that are not in the queue.
  Submission Enqueue(const Models& models, Waiting* waiting);
  void RemoveInTransitLocked(CallId call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex);
  void Enter(Phase phase) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex);
  // Looks after the workers' steps, on a thread of its own.
  void WatchSteps();
  void ReportQueues(Models models);
  void ReportRefusal(const ServedModel& model, const Submission& refusal);

  const Options options_;
  std::atomic<CallId> next_call_{1};
  mutable BatcherState state_;
  // Calls in transit; they count in every queue.
  absl::flat_hash_map<CallId, Sender> in_transit_ ABSL_GUARDED_BY(state_.mutex);
  std::vector<std::unique_ptr<Worker>> workers_;
  CondVar watch_woken_;  // the phase is kExiting
  std::optional<Thread> watch_;
};

ThreadedBatcher::ThreadedBatcher(const Options& options)
    : options_(options),
      state_(options.workers, kQuantumTokens, options.max_waiting_tokens) {
  const RunningBatch::Options batching = {
      .encode_budget_tokens = options.encode_budget_tokens,
      .max_rows = options.max_rows,
      .fixed_rows = options.fixed_rows,
      .speculate = options.speculate,
      .clock = options.clock,
      .observer = options.observer};
  for (int worker = 0; worker < options.workers; ++worker) {
    workers_.push_back(std::make_unique<Worker>(worker, batching,
                                                options.step_timeout, &state_));
  }
}

absl::Status ThreadedBatcher::Start() {
  for (const auto& worker : workers_) {
    if (worker->Start()) continue;
    return absl::ResourceExhaustedError(fmt::format(
        "the system cannot start {} worker threads", options_.workers));
  }
  if (options_.step_timeout == absl::InfiniteDuration()) {
    return absl::OkStatus();
  }
  watch_ = StartThread([this] { WatchSteps(); });
  if (!watch_.has_value()) {
    return absl::ResourceExhaustedError(
        "the system cannot start the thread that watches the workers' steps");
  }
  return absl::OkStatus();
}

void ThreadedBatcher::WatchSteps() {
  const absl::Duration interval =
      std::min(options_.step_timeout / 4, kMostWatchInterval);
  for (;;) {
    {
      MutexLock lock(&state_.mutex);
      const absl::Time next = options_.clock->Now() + interval;
      while (state_.phase != Phase::kExiting && options_.clock->Now() < next) {
        options_.clock->WaitUntil(next, &watch_woken_, &state_.mutex);
      }
      if (state_.phase == Phase::kExiting) return;
    }
    for (const auto& worker : workers_) {
      // Without memory, the next look finds it.
      CatchExceptions([&] { worker->CheckStep(); }).IgnoreError();
    }
  }
}

ThreadedBatcher::~ThreadedBatcher() {
  {
    MutexLock lock(&state_.mutex);
    Enter(Phase::kExiting);
    watch_woken_.SignalAll();
  }
  if (watch_.has_value()) watch_->join();
  workers_.clear();
}

absl::Status ThreadedBatcher::AddModel(ModelHandle model, Engines engines) {
  if (engines.size() != static_cast<size_t>(options_.workers)) {
    return absl::InvalidArgumentError(
        fmt::format("the model '{}' comes with {} engines for {} workers",
                    model->name, engines.size(), options_.workers));
  }
  auto added = std::make_shared<BatchedModel>(options_.workers);
  added->limits = engines[0]->limits();
  added->engines = std::move(engines);
  added->workers_serving = options_.workers;
  added->model = std::move(model);
  MutexLock lock(&state_.mutex);
  if (Find(*added->model) != nullptr) {
    return absl::AlreadyExistsError(
        fmt::format("the model '{}' is served already", added->model->name));
  }
  state_.models.reserve(state_.models.size() + 1);
  added->queue = state_.dispatcher.AddQueue();
  absl::Cleanup undo = [&] {  // if memory ends
    state_.mutex.AssertHeld();
    state_.dispatcher.RemoveQueue(added->queue);
  };
  for (const auto& [call, sender] : in_transit_)
    added->queue->AddInTransit(sender);
  std::move(undo).Cancel();
  state_.models.push_back(std::move(added));
  return absl::OkStatus();
}

absl::Status ThreadedBatcher::RemoveModel(const ServedModel& model) {
  MutexLock lock(&state_.mutex);
  const std::shared_ptr<BatchedModel> found = Find(model);
  if (found == nullptr) return NotServed(model);
  found->removed = true;
  state_.work.SignalAll();
  return absl::OkStatus();
}

bool ThreadedBatcher::Serves(const ServedModel& model) const {
  MutexLock lock(&state_.mutex);
  return state_.phase == Phase::kServing && Find(model) != nullptr;
}

std::shared_ptr<BatchedModel> ThreadedBatcher::Find(
    const ServedModel& model) const {
  for (const std::shared_ptr<BatchedModel>& one : state_.models) {
    if (one->model.get() == &model && !one->removed) return one;
  }
  return nullptr;
}

Submission ThreadedBatcher::Submit(CallId call, std::vector<Request> requests) {
  if (requests.empty()) return {};
  const ModelHandle first = requests[0].model;
  Models models;
  Submission submission = FindModels(requests, &models);
  for (size_t i = 0; submission.ok() && i < requests.size(); ++i) {
    FitNewTokens(models[i]->limits, &requests[i]);
  }
  if (submission.ok()) submission = Check(requests, models);
  if (submission.ok()) {
    const absl::Time now = options_.clock->Now();
    Waiting waiting;
    waiting.reserve(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      auto queued = std::make_unique<QueuedRequest>();
      queued->call = call;
      queued->cost = CostOf(requests[i], models[i]->limits);
      queued->source_key = SourceKey(requests[i]);
      queued->submitted = now;
      queued->request = std::move(requests[i]);
      waiting.push_back(std::move(queued));
    }
    submission = Enqueue(models, &waiting);
    if (submission.ok()) {
      for (const auto& lost : waiting) {
        lost->request.observer->OnDone(NoMemoryStatus());
      }
    }
  }
  if (options_.observer == nullptr) return submission;
  // The requests are taken or refused; a lost report changes nothing.
  CatchExceptions([&] {
    if (submission.ok()) {
      ReportQueues(std::move(models));
    } else if (first != nullptr) {
      ReportRefusal(*first, submission);
    }
  }).IgnoreError();
  return submission;
}

Submission ThreadedBatcher::FindModels(std::span<const Request> requests,
                                       Models* models) const {
  models->reserve(requests.size());
  MutexLock lock(&state_.mutex);
  for (size_t i = 0; i < requests.size(); ++i) {
    const ModelHandle& model = requests[i].model;
    const int index = static_cast<int>(i);
    if (model == nullptr) {
      return {absl::InvalidArgumentError("the request names no model"), index};
    }
    if (i > 0 && model == requests[i - 1].model) {
      models->push_back(models->back());
      continue;
    }
    models->push_back(Find(*model));
    if (models->back() == nullptr) return {NotServed(*model), index};
  }
  return {};
}

Submission ThreadedBatcher::Check(std::span<const Request> requests,
                                  const Models& models) const {
  for (size_t i = 0; i < requests.size(); ++i) {
    absl::Status status =
        requests[i].observer == nullptr
            ? absl::InvalidArgumentError("the request has no observer")
            : CheckRequest(requests[i], models[i]->limits, options_.max_rows);
    if (!status.ok()) return {std::move(status), static_cast<int>(i)};
  }
  return {};
}

Submission ThreadedBatcher::Enqueue(const Models& models, Waiting* waiting) {
  std::vector<int64_t> tokens;
  std::map<BatchedModel*, std::vector<RequestCost>> costs;
  for (size_t i = 0; i < waiting->size(); ++i) {
    const RequestCost& cost = (*waiting)[i]->cost;
    tokens.push_back(cost.tokens);
    costs[models[i].get()].push_back(cost);
  }
  std::vector<std::pair<BatchedModel*, Forecast::Demand>> demands;
  for (const auto& [model, of_model] : costs) {
    demands.emplace_back(model, Forecast::DemandOf(of_model));
  }
  const CallId call = waiting->front()->call;
  const absl::Time now = waiting->front()->submitted;
  const Request& first = waiting->front()->request;
  const Sender sender = {first.client, first.priority};
  const absl::Time deadline = first.deadline;
  MutexLock lock(&state_.mutex);
  RemoveInTransitLocked(call);
  if (state_.phase >= Phase::kDraining) {
    return absl::UnavailableError("the server is shutting down");
  }
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i]->removed) {
      return {NotServed(*models[i]->model), static_cast<int>(i)};
    }
    if (models[i]->stalled()) return RefuseStalled(*models[i]->model);
  }
  // The requests of a call have one sender and deadline, and mostly one model.
  Submission admitted;
  absl::Duration answer;  // of the model that answers last
  for (const auto& [model, demand] : demands) {
    model->forecast.RecordDemand(sender.client, demand);
    const Forecast::Times times =
        model->forecast.TimesOf(*model->queue, sender, call, demand);
    answer = std::max(answer, times.answer);
    if (!admitted.ok()) continue;
    admitted = CheckTime(times, now, deadline, options_.max_queue_wait);
    if (admitted.late) model->forecast.RecordRefusal(now);
  }
  if (admitted.ok()) {
    admitted = state_.admission.Check(sender.client, sender.priority, tokens);
    if (absl::IsResourceExhausted(admitted.status)) {
      admitted.retry_after = RetryAfter(answer);
    }
  }
  if (!admitted.ok()) return admitted;
  size_t pushed = 0;
  const absl::Status status = CatchExceptions([&] {
    state_.mutex.AssertHeld();
    for (; pushed < waiting->size(); ++pushed) {
      state_.admission.Add(sender.client, tokens[pushed]);
      try {
        models[pushed]->queue->Push(std::move((*waiting)[pushed]));
      } catch (...) {
        state_.admission.Remove(sender.client, tokens[pushed]);
        throw;
      }
    }
  });
  if (pushed == 0) return status;
  waiting->erase(waiting->begin(),
                 waiting->begin() + static_cast<int64_t>(pushed));
  state_.unanswered += static_cast<int64_t>(pushed);
  if (state_.idle_workers > 0) state_.work.SignalAll();
  return {};
}

void ThreadedBatcher::ReportQueues(Models models) {
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  for (const std::shared_ptr<BatchedModel>& one : models) {
    state_.TellQueue(*one, options_.observer);
  }
}

void ThreadedBatcher::ReportRefusal(const ServedModel& model,
                                    const Submission& refusal) {
  options_.observer->OnRejected(model, ReasonOf(refusal));
}

Submission ThreadedBatcher::CheckAdmission(const ServedModel* model,
                                           Sender sender, CallId call,
                                           absl::Time deadline) {
  Submission submission;
  ModelHandle refuses;  // the first one
  const absl::Time now = options_.clock->Now();
  {
    MutexLock lock(&state_.mutex);
    for (const std::shared_ptr<BatchedModel>& one : state_.models) {
      if (model != nullptr)
        one->forecast.RecordModel(one->model.get() == model);
    }
    for (const std::shared_ptr<BatchedModel>& one : state_.models) {
      if (one->removed || (model != nullptr && one->model.get() != model)) {
        continue;
      }
      Forecast& forecast = one->forecast;
      const Forecast::Times times =
          model == nullptr
              ? forecast.TimesOfNext(*one->queue, sender, call)
              : forecast.TimesOf(*one->queue, sender, call,
                                 forecast.usual_demand(sender.client));
      Submission its = one->stalled() ? RefuseStalled(*one->model)
                                      : CheckTime(times, now, deadline,
                                                  options_.max_queue_wait);
      if (its.late) forecast.RecordRefusal(now);
      if (its.ok()) {
        its = CheckRoom(
            state_.admission, sender,
            static_cast<int64_t>(forecast.usual_demand(sender.client).tokens),
            model == nullptr ? one->queue->calls_in_transit(sender) : 0, times);
      }
      if (its.ok()) return its;
      if (refuses != nullptr) continue;
      submission = std::move(its);
      refuses = one->model;
    }
  }
  if (refuses != nullptr && options_.observer != nullptr) {
    ReportRefusal(*refuses, submission);
  }
  return submission;
}

void ThreadedBatcher::AddInTransit(CallId call, Sender sender) {
  MutexLock lock(&state_.mutex);
  const auto [entry, is_new] = in_transit_.try_emplace(call, sender);
  if (!is_new) return;
  size_t added = 0;
  try {
    for (; added < state_.models.size(); ++added) {
      state_.models[added]->queue->AddInTransit(sender);
    }
  } catch (...) {
    for (size_t i = 0; i < added; ++i) {
      state_.models[i]->queue->RemoveInTransit(sender);
    }
    in_transit_.erase(entry);
    throw;
  }
}

void ThreadedBatcher::RemoveInTransit(CallId call) {
  MutexLock lock(&state_.mutex);
  RemoveInTransitLocked(call);
}

void ThreadedBatcher::RemoveInTransitLocked(CallId call) {
  const auto found = in_transit_.find(call);
  if (found == in_transit_.end()) return;
  for (const std::shared_ptr<BatchedModel>& one : state_.models) {
    one->queue->RemoveInTransit(found->second);
  }
  in_transit_.erase(found);
}

int64_t ThreadedBatcher::free_waiting_tokens(Sender sender) const {
  MutexLock lock(&state_.mutex);
  return state_.admission.free_tokens(sender.client, sender.priority);
}

bool ThreadedBatcher::Drain(absl::Duration timeout) {
  const absl::Time end = SteadyNow() + timeout;
  MutexLock lock(&state_.mutex);
  Enter(Phase::kDraining);
  while (state_.unanswered > 0) {
    const absl::Duration remaining = end - SteadyNow();
    if (remaining <= absl::ZeroDuration()) break;
    state_.answered.WaitFor(&state_.mutex, remaining);
  }
  if (state_.unanswered == 0) return true;
  Enter(Phase::kCancelling);
  while (state_.unanswered > 0) state_.answered.Wait(&state_.mutex);
  return false;
}

void ThreadedBatcher::Enter(Phase phase) {
  state_.phase = std::max(state_.phase, phase);
  state_.work.SignalAll();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Batcher>> Batcher::Create(
    const Options& options) {
  TRIVIUM_RETURN_IF_ERROR(CheckOptions(options));
  auto threaded = std::make_unique<ThreadedBatcher>(options);
  TRIVIUM_RETURN_IF_ERROR(threaded->Start());
  std::unique_ptr<Batcher> batcher = std::move(threaded);
  if (options.result_cache_bytes > 0) {
    batcher = std::make_unique<CachingBatcher>(
        std::move(batcher), options.result_cache_bytes, options.observer);
  }
  return batcher;
}

}  // namespace trivium
