#ifndef TRIVIUM_SERVER_BATCHING_CACHING_BATCHER_H_
#define TRIVIUM_SERVER_BATCHING_CACHING_BATCHER_H_

#include <memory>
#include <utility>
#include <vector>

#include "server/batching/batcher.h"
#include "server/batching/result_cache.h"

namespace trivium {

// A batcher that answers what it has answered before out of a ResultCache, at
// once and on Submit's thread, and leaves the rest to another batcher: what is
// known takes no room in the queue. Only whole results come in: what failed,
// was cancelled or came too late is asked of the model again. Thread-safe.
class CachingBatcher : public Batcher {
 public:
  // `observer` may be null.
  CachingBatcher(std::unique_ptr<Batcher> batcher, int64_t max_bytes,
                 BatchingObserver* observer)
      : observer_(observer), cache_(max_bytes), batcher_(std::move(batcher)) {}

  absl::Status AddModel(ModelHandle model, Engines engines) override {
    return batcher_->AddModel(std::move(model), std::move(engines));
  }
  // What is cached of it goes like all that nobody asks for.
  absl::Status RemoveModel(const ServedModel& model) override {
    return batcher_->RemoveModel(model);
  }
  bool Serves(const ServedModel& model) const override {
    return batcher_->Serves(model);
  }
  CallId NewCall() override { return batcher_->NewCall(); }
  Submission Submit(CallId call, std::vector<Request> requests) override;
  // What is known takes no time, and whether it is known only its text tells.
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
  bool Drain(absl::Duration timeout) override {
    return batcher_->Drain(timeout);
  }

 private:
  class Keeper;

  void Observe(const ServedModel& model, bool hit) const {
    if (observer_ != nullptr) observer_->OnCacheLookup(model, hit);
  }

  BatchingObserver* const observer_;
  ResultCache cache_;
  // Last: to its end it answers requests, which fills the cache.
  const std::unique_ptr<Batcher> batcher_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_CACHING_BATCHER_H_
