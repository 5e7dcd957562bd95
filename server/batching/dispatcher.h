#ifndef TRIVIUM_SERVER_BATCHING_DISPATCHER_H_
#define TRIVIUM_SERVER_BATCHING_DISPATCHER_H_

#include <cstdint>
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
  Dispatcher(int models, int workers, int64_t quantum);

  void Push(std::unique_ptr<QueuedRequest> request);

  // Worker `worker` stands between two iterations, with `pending_tokens` of
  // its running requests still to do.
  void BeginBoundary(int worker, int64_t pending_tokens);
  // Then, for each model that it looks at:
  void BeginPass(int model) { queues_[model].BeginPass(); }
  // The next request for the worker, of which `fits` judges whether there is
  // room; null when there is none.
  std::unique_ptr<QueuedRequest> Take(int worker, int model,
                                      FairQueue::Judge fits);

  // A request that Take gave to the worker has ended.
  void Finished(int worker, uint64_t source_key);

  FairQueue& queue(int model) { return queues_[model]; }
  const FairQueue& queue(int model) const { return queues_[model]; }
  int64_t waiting_requests() const;
  // A worker's even share of the requests that wait for the model.
  int64_t WaitingShare(int model) const {
    const int64_t workers = static_cast<int64_t>(workers_.size());
    return (queues_[model].requests() + workers - 1) / workers;
  }
  absl::Time earliest_deadline() const;

 private:
  struct Worker {
    int64_t pending_tokens = 0;
    uint64_t boundaries = 0;
  };
  struct Holder {
    int worker;
    int requests;  // of this worker that read the source
  };

  bool BelowShare(int worker) const;
  // Whether the request is to be left to another worker.
  bool LeaveToHolder(int worker, QueuedRequest* request) const;

  std::vector<FairQueue> queues_;  // [models]
  std::vector<Worker> workers_;
  // The workers that read a source now, by source key.
  absl::flat_hash_map<uint64_t, std::vector<Holder>> holders_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_DISPATCHER_H_
