#ifndef TRIVIUM_SERVER_BATCHING_REQUEST_QUEUE_H_
#define TRIVIUM_SERVER_BATCHING_REQUEST_QUEUE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/batching/fair_queue.h"

namespace trivium {

// The requests that wait for one model: a fair queue for each priority, which
// share nothing. Dispatcher chooses between them. Not thread-safe.
class RequestQueue {
 public:
  explicit RequestQueue(int64_t quantum)
      : queues_{FairQueue(quantum), FairQueue(quantum)} {}

  FairQueue& of(Priority priority) {
    return queues_[static_cast<int>(priority)];
  }
  const FairQueue& of(Priority priority) const {
    return queues_[static_cast<int>(priority)];
  }

  void Push(std::unique_ptr<QueuedRequest>&& request) {
    of(request->request.priority).Push(std::move(request));
  }
  void AddInTransit(Sender sender) {
    of(sender.priority).AddInTransit(sender.client);
  }
  void RemoveInTransit(Sender sender) {
    of(sender.priority).RemoveInTransit(sender.client);
  }
  int64_t calls_in_transit(Sender sender) const {
    return of(sender.priority).calls_in_transit(sender.client);
  }

  // Like FairQueue's; all interactive requests come before background ones.
  int64_t TokensBefore(Sender sender, CallId call, int64_t tokens,
                       int64_t tokens_per_call = 0) const {
    const int64_t before =
        of(sender.priority)
            .TokensBefore(sender.client, call, tokens, tokens_per_call);
    if (sender.priority == Priority::kInteractive) return before;
    const FairQueue& interactive = of(Priority::kInteractive);
    return before + interactive.tokens() +
           interactive.all_calls_in_transit() * tokens_per_call;
  }

  void BeginPass() {
    for (FairQueue& queue : queues_) queue.BeginPass();
  }
  void DropDead(absl::Time now, FairQueue::Dropped* dropped) {
    for (FairQueue& queue : queues_) queue.DropDead(now, dropped);
  }
  void DropAll(const absl::Status& status, FairQueue::Dropped* dropped) {
    for (FairQueue& queue : queues_) queue.DropAll(status, dropped);
  }

  int64_t tokens() const { return queues_[0].tokens() + queues_[1].tokens(); }
  int64_t requests() const {
    return queues_[0].requests() + queues_[1].requests();
  }
  absl::Time earliest_deadline() const {
    return std::min(queues_[0].earliest_deadline(),
                    queues_[1].earliest_deadline());
  }

 private:
  std::array<FairQueue, kPriorities> queues_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_REQUEST_QUEUE_H_
