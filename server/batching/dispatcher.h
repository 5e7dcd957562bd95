#ifndef TRIVIUM_SERVER_BATCHING_DISPATCHER_H_
#define TRIVIUM_SERVER_BATCHING_DISPATCHER_H_

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/batching/request_queue.h"

namespace trivium {

// Decides which worker runs which request. All workers share one queue a model
// and take from it between two of their iterations. No request is assigned
// before a worker is ready for it: so the order stays fair, and no worker idles
// while another has a backlog. Not thread-safe; knows no threads.
//
// Rules for a worker that takes requests:
// - Interactive requests come before background requests. But a worker that
//   runs no background request takes one of these first, and keeps room for it
//   (`lacks_background`).
// - It takes while it has less than its even share of all work, running and
//   waiting, in tokens. With little to do, newcomers thus go to the worker with
//   the fewest pending tokens; with much to do, every worker fills up. For
//   interactive requests only interactive work counts.
// - It passes over a request whose source another worker holds, unless that
//   worker has more than its share, or had a chance to take the request and did
//   not.
class Dispatcher {
 public:
  Dispatcher(int workers, int64_t quantum)
      : quantum_(quantum), workers_(workers) {}

  // Adds the queue of one more model.
  RequestQueue* AddQueue() { return &queues_.emplace_back(quantum_); }
  // The queue must be empty.
  void RemoveQueue(RequestQueue* queue);

  // Work left in a worker's running requests.
  struct Pending {
    int64_t tokens = 0;
    int64_t interactive_tokens = 0;  // part of `tokens`
  };
  // The worker is between two iterations, with so much work left.
  void BeginBoundary(int worker, const Pending& pending);
  // Called after BeginBoundary, in a pass of the queue. Returns the next
  // request for the worker, or null. `fits` decides whether there is room.
  // Requests that `fits` drops go to `late`, which may be null if it never
  // drops. `lacks_background`: the worker runs no background request of the
  // model.
  std::unique_ptr<QueuedRequest> Dequeue(int worker, RequestQueue* queue,
                                         FairQueue::Decide fits,
                                         FairQueue::Dropped* late = nullptr,
                                         bool lacks_background = false);

  // A request that Dequeue returned to the worker has ended.
  void Finished(int worker, uint64_t source_key);

  int64_t waiting_requests() const;
  // Returns a worker's even share of `requests`.
  int64_t WaitingShare(int64_t requests) const {
    const int64_t workers = static_cast<int64_t>(workers_.size());
    return (requests + workers - 1) / workers;
  }
  absl::Time earliest_deadline() const;

 private:
  struct Worker {
    Pending pending;
    uint64_t last_boundary = 0;  // its value of boundaries_
  };
  struct Holder {
    int worker;
    int requests;  // requests of this worker that read the source
  };

  // Takes from the queue of one priority. Sets `stopped` if it takes
  // none since `fits` let none overtake one that does not fit.
  std::unique_ptr<QueuedRequest> TakeOf(Priority priority, int worker,
                                        RequestQueue* queue,
                                        FairQueue::Decide fits,
                                        FairQueue::Dropped* late,
                                        bool* stopped);
  void AddHolder(int worker, uint64_t source_key);
  bool BelowShare(int worker, Priority priority) const;
  // True if the worker should leave the request to another worker that holds
  // its source and may still take it.
  bool PassOver(int worker, QueuedRequest* request) const;

  const int64_t quantum_;
  std::list<RequestQueue> queues_;  // one for each model
  std::vector<Worker> workers_;
  uint64_t boundaries_ = 0;  // calls of BeginBoundary, by all workers
  // The workers that read a source now, by source key.
  absl::flat_hash_map<uint64_t, std::vector<Holder>> holders_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_DISPATCHER_H_
