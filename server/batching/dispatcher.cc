#include "server/batching/dispatcher.h"

#include <algorithm>
#include <utility>

#include "base/exceptions.h"
#include "server/batching/source_sharing.h"

// Share: let P[v] be the pending tokens of worker v, as of its last boundary
// plus what it has taken since, and T the waiting tokens of all queues. Worker
// w of W workers is below its share while
//
//   P[w] W < sum of P + T
//
// For interactive requests, P and T count interactive tokens alone.
//
// Holders: holders_ lists worker w under a source key, with n requests, while
// n > 0 unfinished requests that w took have this key. kNoSourceKey is never in
// it.
//
// Passing over: a request is left to a holder of its source until that holder
// has been at a boundary since, which was its chance to take the request.
// Boundaries are numbered across all workers, so the request's note
// (passed_over_at) stays valid if the holder changes.

namespace trivium {

void Dispatcher::RemoveQueue(RequestQueue* queue) {
  queues_.remove_if([queue](const RequestQueue& one) { return &one == queue; });
}

void Dispatcher::BeginBoundary(int worker, const Pending& pending) {
  workers_[worker].pending = pending;
  workers_[worker].last_boundary = ++boundaries_;
}

std::unique_ptr<QueuedRequest> Dispatcher::Dequeue(int worker,
                                                   RequestQueue* queue,
                                                   FairQueue::Decide fits,
                                                   FairQueue::Dropped* late,
                                                   bool lacks_background) {
  bool stopped = false;
  std::unique_ptr<QueuedRequest> taken;
  if (lacks_background) {
    taken = TakeOf(Priority::kBackground, worker, queue, fits, late, &stopped);
    if (stopped) return nullptr;
  }
  for (const Priority priority :
       {Priority::kInteractive, Priority::kBackground}) {
    // No other request may use the room that an interactive one waits for.
    if (taken != nullptr || stopped) break;
    taken = TakeOf(priority, worker, queue, fits, late, &stopped);
  }
  if (taken == nullptr) return nullptr;
  Pending& pending = workers_[worker].pending;
  pending.tokens += taken->cost.tokens;
  if (taken->request.priority == Priority::kInteractive) {
    pending.interactive_tokens += taken->cost.tokens;
  }
  if (taken->source_key == kNoSourceKey) return taken;
  if (!CatchExceptions([&] { AddHolder(worker, taken->source_key); }).ok()) {
    // Without memory, nobody learns that this worker has the source.
    taken->source_key = kNoSourceKey;
  }
  return taken;
}

void Dispatcher::AddHolder(int worker, uint64_t source_key) {
  const auto [entry, is_new] = holders_.try_emplace(source_key);
  std::vector<Holder>& holders = entry->second;
  const auto self =
      std::find_if(holders.begin(), holders.end(),
                   [&](const Holder& h) { return h.worker == worker; });
  if (self != holders.end()) {
    ++self->requests;
    return;
  }
  try {
    holders.push_back({worker, 1});
  } catch (...) {
    if (is_new) holders_.erase(entry);
    throw;
  }
}

std::unique_ptr<QueuedRequest> Dispatcher::TakeOf(Priority priority, int worker,
                                                  RequestQueue* queue,
                                                  FairQueue::Decide fits,
                                                  FairQueue::Dropped* late,
                                                  bool* stopped) {
  if (queue->of(priority).requests() == 0 || !BelowShare(worker, priority)) {
    return nullptr;
  }
  bool may_overtake = true;
  std::unique_ptr<QueuedRequest> taken = queue->of(priority).Dequeue(
      [&](QueuedRequest& request) {
        // Requests that this pass dropped are no longer work.
        if (!BelowShare(worker, priority)) return FairQueue::Verdict::kStop;
        if (PassOver(worker, &request)) return FairQueue::Verdict::kSkip;
        const FairQueue::Verdict verdict = fits(request);
        may_overtake = may_overtake && verdict != FairQueue::Verdict::kStop &&
                       verdict != FairQueue::Verdict::kSkipClient;
        return verdict;
      },
      late);
  *stopped = taken == nullptr && !may_overtake;
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

bool Dispatcher::BelowShare(int worker, Priority priority) const {
  const bool interactive = priority == Priority::kInteractive;
  const auto pending = [interactive](const Worker& one) {
    return interactive ? one.pending.interactive_tokens : one.pending.tokens;
  };
  int64_t all = 0;
  for (const RequestQueue& queue : queues_) {
    all += interactive ? queue.of(priority).tokens() : queue.tokens();
  }
  for (const Worker& other : workers_) all += pending(other);
  return pending(workers_[worker]) * static_cast<int64_t>(workers_.size()) <
         all;
}

bool Dispatcher::PassOver(int worker, QueuedRequest* request) const {
  const auto found = holders_.find(request->source_key);
  if (found == holders_.end()) return false;
  for (const Holder& holder : found->second) {
    if (holder.worker == worker) return false;
  }
  for (const Holder& holder : found->second) {
    if (!BelowShare(holder.worker, request->request.priority)) continue;
    if (!request->passed_over_at) request->passed_over_at = boundaries_;
    return workers_[holder.worker].last_boundary <= *request->passed_over_at;
  }
  return false;
}

int64_t Dispatcher::waiting_requests() const {
  int64_t requests = 0;
  for (const RequestQueue& queue : queues_) requests += queue.requests();
  return requests;
}

absl::Time Dispatcher::earliest_deadline() const {
  absl::Time earliest = absl::InfiniteFuture();
  for (const RequestQueue& queue : queues_) {
    earliest = std::min(earliest, queue.earliest_deadline());
  }
  return earliest;
}

}  // namespace trivium
