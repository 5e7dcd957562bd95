#ifndef TRIVIUM_SERVER_BATCHING_CACHING_BATCHER_H_
#define TRIVIUM_SERVER_BATCHING_CACHING_BATCHER_H_

#include <memory>
#include <utility>
#include <vector>

#include "server/batching/batcher.h"
#include "server/batching/result_cache.h"

namespace trivium {

// A batcher that answers repeated requests from a ResultCache, at once and on
// Submit's thread, and passes the others on to another batcher. A cached
// request takes no room in the queue. Only complete results are cached:
// requests that failed, were cancelled or came too late run again. Thread-safe.
class CachingBatcher : public Batcher {
 public:
  // `observer` may be null.
  CachingBatcher(std::unique_ptr<Batcher> batcher, int64_t max_bytes,
                 BatchingObserver* observer)
      : observer_(observer), cache_(max_bytes), batcher_(std::move(batcher)) {}

  absl::Status AddModel(ModelHandle model, Engines engines) override {
    return batcher_->AddModel(std::move(model), std::move(engines));
  }
  // The model's cached results stay until they are evicted as unused.
  absl::Status RemoveModel(const ServedModel& model) override {
    return batcher_->RemoveModel(model);
  }
  bool Serves(const ServedModel& model) const override {
    return batcher_->Serves(model);
  }
  CallId NewCall() override { return batcher_->NewCall(); }
  Submission Submit(CallId call, std::vector<Request> requests) override;
  // Always OK: a cached answer takes no time, and only the text can tell
  // whether the answer is cached.
  Submission CheckAdmission(const ServedModel*, Sender, CallId,
                            absl::Time) override {
    return {};
  }
  void AddInTransit(CallId call, Sender sender) override {
    batcher_->AddInTransit(call, sender);
  }
  void RemoveInTransit(CallId call) override {
    batcher_->RemoveInTransit(call);
  }
  int64_t free_waiting_tokens(Sender sender) const override {
    return batcher_->free_waiting_tokens(sender);
  }
  int stalled_steps() const override { return batcher_->stalled_steps(); }
  void ListenForStalls(
      std::function<void(const StepStall&)> listener) override {
    batcher_->ListenForStalls(std::move(listener));
  }
  bool Drain(absl::Duration timeout) override {
    return batcher_->Drain(timeout);
  }

 private:
  class Keeper;

  // Does not throw: without memory, a report is lost.
  void Observe(const ServedModel& model, bool hit) const;

  BatchingObserver* const observer_;
  ResultCache cache_;
  // Last member: its destructor answers requests, which fills the cache.
  const std::unique_ptr<Batcher> batcher_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_CACHING_BATCHER_H_
