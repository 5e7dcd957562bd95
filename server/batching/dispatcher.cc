#include "server/batching/dispatcher.h"

#include <algorithm>
#include <utility>

namespace trivium {

Dispatcher::Dispatcher(int models, int workers, int64_t quantum)
    : workers_(workers) {
  queues_.reserve(models);
  for (int i = 0; i < models; ++i) queues_.emplace_back(quantum);
}

void Dispatcher::Push(std::unique_ptr<QueuedRequest> request) {
  const int model = request->request.model;
  queues_[model].Push(std::move(request));
}

void Dispatcher::BeginBoundary(int worker, int64_t pending_tokens) {
  workers_[worker].pending_tokens = pending_tokens;
  ++workers_[worker].boundaries;
}

std::unique_ptr<QueuedRequest> Dispatcher::Take(int worker, int model,
                                                FairQueue::Judge fits) {
  std::unique_ptr<QueuedRequest> taken =
      queues_[model].Take([&](QueuedRequest& request) {
        if (!BelowShare(worker)) return FairQueue::Verdict::kStop;
        if (LeaveToHolder(worker, &request)) return FairQueue::Verdict::kSkip;
        return fits(request);
      });
  if (taken == nullptr) return nullptr;
  workers_[worker].pending_tokens += taken->cost.tokens;
  if (taken->source_key == kNoSourceKey) return taken;
  std::vector<Holder>& holders = holders_[taken->source_key];
  const auto self =
      std::find_if(holders.begin(), holders.end(),
                   [&](const Holder& h) { return h.worker == worker; });
  if (self == holders.end()) {
    holders.push_back({worker, 1});
  } else {
    ++self->requests;
  }
  return taken;
}

void Dispatcher::Finished(int worker, uint64_t source_key) {
  if (source_key == kNoSourceKey) return;
  const auto found = holders_.find(source_key);
  std::vector<Holder>& holders = found->second;
  const auto self =
      std::find_if(holders.begin(), holders.end(),
                   [&](const Holder& h) { return h.worker == worker; });
  if (--self->requests == 0) holders.erase(self);
  if (holders.empty()) holders_.erase(found);
}

bool Dispatcher::BelowShare(int worker) const {
  int64_t all = 0;
  for (const FairQueue& queue : queues_) all += queue.tokens();
  for (const Worker& other : workers_) all += other.pending_tokens;
  return workers_[worker].pending_tokens *
             static_cast<int64_t>(workers_.size()) <
         all;
}

bool Dispatcher::LeaveToHolder(int worker, QueuedRequest* request) const {
  const auto found = holders_.find(request->source_key);
  if (found == holders_.end()) return false;
  for (const Holder& holder : found->second) {
    if (holder.worker == worker) return false;
  }
  for (const Holder& holder : found->second) {
    if (!BelowShare(holder.worker)) continue;
    const uint64_t boundaries = workers_[holder.worker].boundaries;
    if (!request->left) {
      request->left = true;
      request->left_at = boundaries;
    }
    return boundaries <= request->left_at;
  }
  return false;
}

int64_t Dispatcher::waiting_requests() const {
  int64_t requests = 0;
  for (const FairQueue& queue : queues_) requests += queue.requests();
  return requests;
}

absl::Time Dispatcher::earliest_deadline() const {
  absl::Time earliest = absl::InfiniteFuture();
  for (const FairQueue& queue : queues_) {
    earliest = std::min(earliest, queue.earliest_deadline());
  }
  return earliest;
}

}  // namespace trivium
