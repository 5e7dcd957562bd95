#ifndef TRIVIUM_SERVER_BATCHING_DISPATCHER_H_
#define TRIVIUM_SERVER_BATCHING_DISPATCHER_H_

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/batching/fair_queue.h"

namespace trivium {

// Which worker runs which request: one queue a model for all workers, from
// which each worker takes between two of its iterations. Nothing is assigned
// before a worker is ready for it, so the order stays fair to the end and no
// worker waits while another has a backlog. Not thread-safe; knows no threads.
//
// A worker takes
// - while it has less than its even share of all work, running and waiting,
//   in tokens: with little to do newcomers thus go to the worker with the
//   fewest pending tokens, with much to do every worker fills up;
// - not what another worker has the source of, unless that one has more than
//   its share or had its chance to take it and did not.
class Dispatcher {
 public:
  Dispatcher(int workers, int64_t quantum)
      : quantum_(quantum), workers_(workers) {}

  // A queue for one more model; requests are pushed into it.
  FairQueue* AddQueue() { return &queues_.emplace_back(quantum_); }
  // An empty queue goes.
  void RemoveQueue(FairQueue* queue);

  // Worker `worker` stands between two iterations, with `pending_tokens` of
  // its running requests still to do.
  void BeginBoundary(int worker, int64_t pending_tokens);
  // Then, in a pass of a queue: the next request for the worker, of which
  // `fits` judges whether there is room; null when there is none. What it
  // drops goes to `late`, which may be null where it drops none.
  std::unique_ptr<QueuedRequest> Take(int worker, FairQueue* queue,
                                      FairQueue::Judge fits,
                                      FairQueue::Dropped* late = nullptr);

  // A request that Take gave to the worker has ended.
  void Finished(int worker, uint64_t source_key);

  int64_t waiting_requests() const;
  // A worker's even share of the requests that wait in the queue.
  int64_t WaitingShare(const FairQueue& queue) const {
    const int64_t workers = static_cast<int64_t>(workers_.size());
    return (queue.requests() + workers - 1) / workers;
  }
  absl::Time earliest_deadline() const;

 private:
  struct Worker {
    int64_t pending_tokens = 0;
    uint64_t last_boundary = 0;  // its number among all workers'
  };
  struct Holder {
    int worker;
    int requests;  // of this worker that read the source
  };

  bool BelowShare(int worker) const;
  // Whether the worker is to pass over the request, which another worker has
  // the source of, and may yet take.
  bool PassOver(int worker, QueuedRequest* request) const;

  const int64_t quantum_;
  std::list<FairQueue> queues_;  // one a model
  std::vector<Worker> workers_;
  uint64_t boundaries_ = 0;  // at which workers stood between iterations
  // The workers that read a source now, by source key.
  absl::flat_hash_map<uint64_t, std::vector<Holder>> holders_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_DISPATCHER_H_
