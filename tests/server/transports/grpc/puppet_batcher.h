#ifndef TRIVIUM_TESTS_SERVER_TRANSPORTS_GRPC_PUPPET_BATCHER_H_
#define TRIVIUM_TESTS_SERVER_TRANSPORTS_GRPC_PUPPET_BATCHER_H_

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <functional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "server/batching/batcher.h"

namespace trivium {

// A batcher that answers each request with its own source tokens: the
// translation of a text is the text. The test may hold the answers back, let
// them come one token at a time, refuse, and say how full it is. Thread-safe.
class PuppetBatcher : public Batcher {
 public:
  PuppetBatcher() : worker_([this] { Work(); }) {}
  ~PuppetBatcher() override {
    {
      MutexLock lock(&mutex_);
      stopping_ = true;
      held_ = false;
      changed_.SignalAll();
    }
    worker_.join();
  }

  // While held, requests wait; those cancelled or too late are still dropped.
  void Hold() {
    Set([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { held_ = true; });
  }
  void Release() {
    Set([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { held_ = false; });
  }
  // Sets what Submit answers.
  void Refuse(Submission refusal) {
    MutexLock lock(&mutex_);
    refusal_ = std::move(refusal);
    refusal_.retry_after = absl::Milliseconds(200);
  }
  // Sets what CheckAdmission answers.
  void RefuseBeforehand(Submission refusal) {
    MutexLock lock(&mutex_);
    foreseen_ = std::move(refusal);
    foreseen_.retry_after = absl::Milliseconds(200);
  }
  // Says that a step of the model does not return, or has returned.
  void Stall(const ServedModel& model, bool returned) {
    std::function<void(const StepStall&)> listener;
    {
      MutexLock lock(&mutex_);
      stalled_steps_ = returned ? 0 : 1;
      listener = stall_listener_;
    }
    if (listener != nullptr) listener({model, 0, absl::Seconds(60), returned});
  }
  int stalled_steps() const override {
    MutexLock lock(&mutex_);
    return stalled_steps_;
  }
  void ListenForStalls(
      std::function<void(const StepStall&)> listener) override {
    MutexLock lock(&mutex_);
    stall_listener_ = std::move(listener);
  }
  // Number of calls that were checked before their requests were read.
  int asked_early() const {
    MutexLock lock(&mutex_);
    return asked_early_;
  }
  // Calls that are in transit now, and those that were until Submit.
  size_t in_transit() const {
    MutexLock lock(&mutex_);
    return in_transit_.size();
  }
  int arrived() const {
    MutexLock lock(&mutex_);
    return arrived_;
  }
  // Sets how requests end.
  void Fail(absl::Status status) {
    MutexLock lock(&mutex_);
    failure_ = std::move(status);
  }
  // Sets the logits that requests get: [rows, outputs], as the engine has them.
  void set_logits(std::function<std::vector<float>(const Request&)> logits) {
    MutexLock lock(&mutex_);
    logits_ = std::move(logits);
  }
  void set_free_tokens(int64_t tokens) {
    MutexLock lock(&mutex_);
    free_tokens_ = tokens;
  }

  void WaitForSubmitted(size_t count) {
    MutexLock lock(&mutex_);
    while (submitted_.size() < count) changed_.Wait(&mutex_);
  }
  void WaitForDropped(int count) {
    MutexLock lock(&mutex_);
    while (dropped_ < count) changed_.Wait(&mutex_);
  }
  int refused() const {
    MutexLock lock(&mutex_);
    return refused_;
  }
  // All accepted requests, without their observers.
  std::vector<Request> submitted() const {
    MutexLock lock(&mutex_);
    return submitted_;
  }

  absl::Status AddModel(ModelHandle, Engines) override {
    return absl::OkStatus();
  }
  absl::Status RemoveModel(const ServedModel&) override {
    return absl::OkStatus();
  }
  bool Serves(const ServedModel&) const override { return true; }
  CallId NewCall() override { return next_call_++; }

  Submission Submit(CallId call, std::vector<Request> requests) override {
    MutexLock lock(&mutex_);
    arrived_ += static_cast<int>(in_transit_.erase(call));
    if (!refusal_.ok()) {
      ++refused_;
      return refusal_;
    }
    for (Request& request : requests) {
      submitted_.push_back(request);
      submitted_.back().observer = nullptr;
      queue_.push_back(std::move(request));
    }
    changed_.SignalAll();
    return {};
  }

  Submission CheckAdmission(const ServedModel* model, Sender, CallId,
                            absl::Time) override {
    MutexLock lock(&mutex_);
    if (model == nullptr) ++asked_early_;
    return foreseen_;
  }
  void AddInTransit(CallId call, Sender) override {
    MutexLock lock(&mutex_);
    in_transit_.insert(call);
  }
  void RemoveInTransit(CallId call) override {
    MutexLock lock(&mutex_);
    in_transit_.erase(call);
  }
  int64_t free_waiting_tokens(Sender) const override {
    MutexLock lock(&mutex_);
    return free_tokens_;
  }
  bool Drain(absl::Duration) override {
    Set([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      failure_ = absl::UnavailableError("the server was stopped");
      held_ = false;
    });
    return true;
  }

 private:
  template <typename Change>
  void Set(Change change) {
    MutexLock lock(&mutex_);
    change();
    changed_.SignalAll();
  }

  void Work() {
    while (true) {
      std::vector<Request> dropped;
      std::optional<Request> next;
      absl::Status failure;
      {
        MutexLock lock(&mutex_);
        if (stopping_ && queue_.empty()) return;
        std::erase_if(queue_, [&](Request& request) {
          const bool drop = Unwanted(request);
          if (drop) dropped.push_back(std::move(request));
          return drop;
        });
        if (!held_ && !queue_.empty()) {
          next = std::move(queue_.front());
          queue_.pop_front();
        }
        failure = failure_;
        if (!next && dropped.empty()) {
          // Cancellations and deadlines do not wake this thread.
          changed_.WaitFor(&mutex_, absl::Milliseconds(1));
        }
      }
      for (Request& request : dropped) {
        request.observer->OnDone(request.cancellation->cancelled()
                                     ? absl::CancelledError("cancelled")
                                     : absl::DeadlineExceededError("too late"));
        MutexLock lock(&mutex_);
        ++dropped_;
        changed_.SignalAll();
      }
      if (next && !failure.ok()) next->observer->OnDone(failure);
      if (next && failure.ok()) Answer(*next);
    }
  }

  static bool Unwanted(const Request& request) {
    return (request.cancellation && request.cancellation->cancelled()) ||
           Clock::Real()->Now() >= request.deadline;
  }

  // Computes the result like an engine, from all logits of a row.
  static void KeepBest(const Request& request, RequestResult* result) {
    const size_t rows = request.logits_positions.size();
    const size_t outputs = result->logits.size() / rows;
    for (size_t row = 0; row < rows; ++row) {
      std::vector<Candidate> all;
      for (size_t i = 0; i < outputs; ++i) {
        all.push_back(
            {static_cast<int32_t>(i), result->logits[row * outputs + i]});
      }
      std::stable_sort(all.begin(), all.end(),
                       [](const Candidate& a, const Candidate& b) {
                         return a.logit > b.logit;
                       });
      BestLogits& best = result->best_logits.emplace_back();
      float sum = 0;
      for (const Candidate& one : all) sum += std::exp(one.logit);
      best.log_sum_exp = std::log(sum);
      all.resize(std::min<size_t>(all.size(), request.logits_best));
      best.best = std::move(all);
    }
    result->logits.clear();
  }

  void Answer(const Request& request) {
    RequestResult result;
    if (request.pooled) result.pooled = {3, 4};
    if (request.logits) {
      MutexLock lock(&mutex_);
      result.logits = logits_(request);
      if (request.logits_best > 0) KeepBest(request, &result);
    }
    const std::vector<int32_t>& source =
        request.source.ids.empty() ? request.prefix : request.source.ids;
    result.source_tokens = static_cast<int>(request.source.ids.size());
    if (request.states != States::kNone) {
      // [tokens, 2]: the id and 1.
      std::span<const int32_t> read = source;
      if (request.states == States::kFirst) read = read.first(1);
      if (request.states == States::kLast) read = read.last(1);
      for (const int32_t id : read) {
        result.states.push_back(static_cast<float>(id));
        result.states.push_back(1);
      }
    }
    // [layers, tokens, 2]: the id and the layer.
    for (const int layer : request.hidden_layers) {
      for (const int32_t id : source) {
        result.hidden.push_back(static_cast<float>(id));
        result.hidden.push_back(static_cast<float>(layer));
      }
    }
    if (request.decoding) {
      for (int i = 0; i < request.decoding->hypotheses; ++i) {
        result.hypotheses.push_back(Echo(request, source, i));
      }
    }
    request.observer->OnDone(std::move(result));
  }

  static Hypothesis Echo(const Request& request,
                         const std::vector<int32_t>& source, int index) {
    Hypothesis hypothesis;
    hypothesis.score = -0.5f;
    for (const int32_t id : source) {
      if (static_cast<int>(hypothesis.ids.size()) ==
          request.decoding->max_new_tokens) {
        return hypothesis;
      }
      hypothesis.ids.push_back(id);
      hypothesis.logprobs.push_back(-0.25f);
      if (request.decoding->top_logprobs > 0) {
        hypothesis.top_logprobs.push_back({{id, -0.25f}});
      }
      if (request.stream) {
        request.observer->OnTokens(
            index, std::span(&id, 1), std::span(&hypothesis.logprobs.back(), 1),
            std::span(hypothesis.top_logprobs)
                .last(request.decoding->top_logprobs > 0 ? 1 : 0));
      }
      if (request.stop != nullptr && request.stop->Matches(hypothesis.ids)) {
        hypothesis.reason = FinishReason::kStop;
        return hypothesis;
      }
    }
    hypothesis.reason = FinishReason::kEnd;
    return hypothesis;
  }

  mutable Mutex mutex_;
  CondVar changed_;
  int stalled_steps_ ABSL_GUARDED_BY(mutex_) = 0;
  std::function<void(const StepStall&)> stall_listener_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  int refused_ ABSL_GUARDED_BY(mutex_) = 0;
  int dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t free_tokens_ ABSL_GUARDED_BY(mutex_) = 1 << 20;
  std::function<std::vector<float>(const Request&)> logits_
      ABSL_GUARDED_BY(mutex_);
  Submission refusal_ ABSL_GUARDED_BY(mutex_);
  Submission foreseen_ ABSL_GUARDED_BY(mutex_);
  int asked_early_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<CallId> next_call_ = 1;
  std::set<CallId> in_transit_ ABSL_GUARDED_BY(mutex_);
  int arrived_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::deque<Request> queue_ ABSL_GUARDED_BY(mutex_);
  std::vector<Request> submitted_ ABSL_GUARDED_BY(mutex_);
  std::thread worker_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_TRANSPORTS_GRPC_PUPPET_BATCHER_H_
