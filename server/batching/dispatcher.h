#ifndef TRIVIUM_SERVER_BATCHING_DISPATCHER_H_
#define TRIVIUM_SERVER_BATCHING_DISPATCHER_H_

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/batching/request_queue.h"

namespace trivium {

// Which worker runs which request: one queue a model for all workers, from
// which each worker takes between two of its iterations. Nothing is assigned
// before a worker is ready for it, so the order stays fair to the end and no
// worker waits while another has a backlog. Not thread-safe; knows no threads.
//
// A worker takes
// - interactive requests before background requests; but where it runs no
// background
//   request, one of these first, for which it then keeps room
//   (`lacks_background`);
// - while it has less than its even share of all work, running and waiting,
//   in tokens: with little to do newcomers thus go to the worker with the
//   fewest pending tokens, with much to do every worker fills up. Of
//   interactive requests, all work is interactive work;
// - not what another worker has the source of, unless that one has more than
//   its share or had its chance to take it and did not.
class Dispatcher {
 public:
  Dispatcher(int workers, int64_t quantum)
      : quantum_(quantum), workers_(workers) {}

  // A queue for one more model; requests are pushed into it.
  RequestQueue* AddQueue() { return &queues_.emplace_back(quantum_); }
  // An empty queue goes.
  void RemoveQueue(RequestQueue* queue);

  // Of a worker's running requests, what is still to be done.
  struct Pending {
    int64_t tokens = 0;
    int64_t interactive_tokens = 0;  // of these
  };
  // Worker `worker` stands between two iterations, with so much to do.
  void BeginBoundary(int worker, const Pending& pending);
  // Then, in a pass of a queue: the next request for the worker, of which
  // `fits` judges whether there is room; null when there is none. What it
  // drops goes to `late`, which may be null where it drops none.
  // `lacks_background`: the worker runs no background request of the model.
  std::unique_ptr<QueuedRequest> Take(int worker, RequestQueue* queue,
                                      FairQueue::Decide fits,
                                      FairQueue::Dropped* late = nullptr,
                                      bool lacks_background = false);

  // A request that Take gave to the worker has ended.
  void Finished(int worker, uint64_t source_key);

  int64_t waiting_requests() const;
  // A worker's even share of so many requests.
  int64_t WaitingShare(int64_t requests) const {
    const int64_t workers = static_cast<int64_t>(workers_.size());
    return (requests + workers - 1) / workers;
  }
  absl::Time earliest_deadline() const;

 private:
  struct Worker {
    Pending pending;
    uint64_t last_boundary = 0;  // its number among all workers'
  };
  struct Holder {
    int worker;
    int requests;  // of this worker that read the source
  };

  // Takes out of the queue of one priority. `stopped`: `fits` let nobody pass.
  std::unique_ptr<QueuedRequest> TakeOf(Priority priority, int worker,
                                        RequestQueue* queue,
                                        FairQueue::Decide fits,
                                        FairQueue::Dropped* late,
                                        bool* stopped);
  bool BelowShare(int worker, Priority priority) const;
  // Whether the worker is to pass over the request, which another worker has
  // the source of, and may yet take.
  bool PassOver(int worker, QueuedRequest* request) const;

  const int64_t quantum_;
  std::list<RequestQueue> queues_;  // one a model
  std::vector<Worker> workers_;
  uint64_t boundaries_ = 0;  // at which workers stood between iterations
  // The workers that read a source now, by source key.
  absl::flat_hash_map<uint64_t, std::vector<Holder>> holders_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_DISPATCHER_H_
