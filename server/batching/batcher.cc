#include "server/batching/batcher.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "server/batching/caching_batcher.h"
#include "server/batching/request_cost.h"
#include "server/batching/worker.h"

namespace trivium {
namespace {

// Of the deficit round robin: about one sentence's worst case, so that a turn
// is a sentence or two.
constexpr int64_t kQuantumTokens = 256;

absl::Status CheckCreate(const Batcher::Options& options,
                         std::span<const Batcher::ModelEngines> models) {
  const std::pair<const char*, int64_t> numbers[] = {
      {"workers", options.workers},
      {"max_waiting_tokens", options.max_waiting_tokens},
      {"encode_budget_tokens", options.encode_budget_tokens},
      {"max_rows", options.max_rows}};
  for (const auto& number : numbers) {
    if (number.second >= 1) continue;
    return absl::InvalidArgumentError(
        fmt::format("{} is {}: give at least 1", number.first, number.second));
  }
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i].engines.size() != static_cast<size_t>(options.workers)) {
      return absl::InvalidArgumentError(
          fmt::format("model {} has {} engines for {} workers", i,
                      models[i].engines.size(), options.workers));
    }
  }
  return absl::OkStatus();
}

class ThreadedBatcher : public Batcher {
 public:
  ThreadedBatcher(const Options& options, std::vector<ModelEngines> models);
  ~ThreadedBatcher() override;

  CallId NewCall() override { return next_call_++; }
  absl::Status Submit(CallId call, std::vector<Request> requests) override;
  absl::Duration RetryAfter() const override;
  int64_t free_waiting_tokens() const override;
  bool Drain(absl::Duration timeout) override;

 private:
  using Phase = BatcherState::Phase;
  using Waiting = std::vector<std::unique_ptr<QueuedRequest>>;

  absl::Status Check(std::span<const Request> requests) const;
  // Puts all into the queue or none.
  absl::Status Enqueue(Waiting waiting);
  void Enter(Phase phase) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_.mutex);
  void ReportQueue(int model);

  const Options options_;
  std::vector<EngineLimits> limits_;  // [models]
  std::atomic<CallId> next_call_{1};
  mutable BatcherState state_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

ThreadedBatcher::ThreadedBatcher(const Options& options,
                                 std::vector<ModelEngines> models)
    : options_(options),
      state_(static_cast<int>(models.size()), options.workers, kQuantumTokens,
             options.max_waiting_tokens) {
  for (const ModelEngines& model : models) {
    limits_.push_back(model.engines[0]->limits());
  }
  for (int worker = 0; worker < options.workers; ++worker) {
    std::vector<std::unique_ptr<RunningBatch>> batches;
    for (size_t model = 0; model < models.size(); ++model) {
      batches.push_back(std::make_unique<RunningBatch>(
          RunningBatch::Options{
              .model = static_cast<int>(model),
              .worker = worker,
              .encode_budget_tokens = options.encode_budget_tokens,
              .max_rows = options.max_rows,
              .fixed_rows = options.fixed_rows,
              .clock = options.clock,
              .observer = options.observer},
          std::move(models[model].engines[worker])));
    }
    workers_.push_back(std::make_unique<Worker>(
        worker, std::move(batches), options.clock, options.observer, &state_));
  }
}

ThreadedBatcher::~ThreadedBatcher() {
  {
    MutexLock lock(&state_.mutex);
    Enter(Phase::kExiting);
  }
  workers_.clear();
}

absl::Status ThreadedBatcher::Submit(CallId call,
                                     std::vector<Request> requests) {
  absl::Status status = Check(requests);
  if (status.ok()) {
    const absl::Time now = options_.clock->Now();
    Waiting waiting;
    waiting.reserve(requests.size());
    for (Request& request : requests) {
      auto queued = std::make_unique<QueuedRequest>();
      queued->call = call;
      queued->cost = CostOf(request, limits_[request.model]);
      queued->source_key = SourceKey(request.model, request.source);
      queued->submitted = now;
      queued->request = std::move(request);
      waiting.push_back(std::move(queued));
    }
    status = Enqueue(std::move(waiting));
  }
  if (!status.ok() && options_.observer != nullptr) {
    const char* reason = absl::IsResourceExhausted(status) ? "full"
                         : absl::IsUnavailable(status)     ? "draining"
                                                           : "invalid";
    const int model = requests.empty() ? 0 : requests[0].model;
    options_.observer->OnRejected(model, reason);
  }
  return status;
}

absl::Status ThreadedBatcher::Check(std::span<const Request> requests) const {
  for (size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    absl::Status status;
    if (request.model < 0 ||
        request.model >= static_cast<int>(limits_.size())) {
      status = absl::InvalidArgumentError(
          fmt::format("there is no model {}", request.model));
    } else if (request.observer == nullptr) {
      status = absl::InvalidArgumentError("the request has no observer");
    } else {
      status = CheckRequest(request, limits_[request.model], options_.max_rows);
    }
    if (!status.ok()) {
      return absl::Status(
          status.code(),
          fmt::format("{}: {}", i, std::string(status.message())));
    }
  }
  return absl::OkStatus();
}

absl::Status ThreadedBatcher::Enqueue(Waiting waiting) {
  std::vector<int64_t> tokens;
  std::vector<int> models;
  for (const auto& queued : waiting) {
    tokens.push_back(queued->cost.tokens);
    const int model = queued->request.model;
    if (std::find(models.begin(), models.end(), model) == models.end()) {
      models.push_back(model);
    }
  }
  {
    MutexLock lock(&state_.mutex);
    if (state_.phase >= Phase::kDraining) {
      return absl::UnavailableError("the server is shutting down");
    }
    TRIVIUM_RETURN_IF_ERROR(state_.admission.Admit(tokens));
    state_.unanswered += static_cast<int64_t>(waiting.size());
    for (auto& queued : waiting) state_.dispatcher.Push(std::move(queued));
    if (state_.idle_workers > 0) state_.work.SignalAll();
  }
  for (const int model : models) ReportQueue(model);
  return absl::OkStatus();
}

void ThreadedBatcher::ReportQueue(int model) {
  if (options_.observer == nullptr) return;
  int64_t tokens;
  int64_t requests;
  {
    MutexLock lock(&state_.mutex);
    tokens = state_.dispatcher.queue(model).tokens();
    requests = state_.dispatcher.queue(model).requests();
  }
  options_.observer->OnQueued(model, tokens, requests);
}

absl::Duration ThreadedBatcher::RetryAfter() const {
  MutexLock lock(&state_.mutex);
  return state_.admission.RetryAfter(options_.clock->Now());
}

int64_t ThreadedBatcher::free_waiting_tokens() const {
  MutexLock lock(&state_.mutex);
  return state_.admission.free_tokens();
}

bool ThreadedBatcher::Drain(absl::Duration timeout) {
  const absl::Time end = absl::Now() + timeout;
  MutexLock lock(&state_.mutex);
  Enter(Phase::kDraining);
  while (state_.unanswered > 0) {
    const absl::Duration left = std::min(end - absl::Now(), absl::Hours(1));
    if (left <= absl::ZeroDuration()) break;
    state_.answered.WaitFor(&state_.mutex, absl::ToChronoNanoseconds(left));
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
    const Options& options, std::vector<ModelEngines> models) {
  TRIVIUM_RETURN_IF_ERROR(CheckCreate(options, models));
  std::unique_ptr<Batcher> batcher =
      std::make_unique<ThreadedBatcher>(options, std::move(models));
  if (options.result_cache_bytes > 0) {
    batcher = std::make_unique<CachingBatcher>(
        std::move(batcher), options.result_cache_bytes, options.observer);
  }
  return batcher;
}

}  // namespace trivium
