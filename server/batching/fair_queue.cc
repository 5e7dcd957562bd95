// Invariants between two calls of public functions:
// - A call is in calls_, in call_by_id_ and in its client's turns exactly while
//   it has waiting requests. A client is in clients_ exactly while it has such
//   a call, and in client_by_id_ also while it has calls in transit. No run is
//   empty.
// - The tokens of a call, of a client and of the queue, and requests_, are sums
//   over the waiting requests. earliest_deadline_ is not later than any of
//   their deadlines.
// - A client's price is that of its first call's first request. If that call is
//   skipped, another request is taken at the client's turn; the client pays for
//   the request that was taken, and may end in debt.
//
// TokensBefore: a call has w tokens waiting, and t more come. By the time that
// these are taken, each of the client's n other calls has got at most as many,
// or one quantum q if that is more; and together with w no more than C, all
// that the client has waiting:
//
//   before = min(C, w + n max(w + t, q))
//
// The same holds among the N other clients, with A tokens waiting in all:
//
//   min(A, before + N max(before + t, q))
//
// If calls in transit count, with e tokens each (`tokens_per_call`), they are
// included in n, C, N and A.
#include "server/batching/fair_queue.h"

#include <algorithm>
#include <utility>

namespace trivium {
namespace {

// Capacity for `more` requests beside those that were dropped. What is taken
// out of the queue has its place already, so it cannot be lost for lack of
// memory.
size_t RoomFor(const FairQueue::Dropped& dropped, size_t more) {
  const size_t needed = dropped.size() + more;
  return needed <= dropped.capacity()
             ? dropped.capacity()
             : std::max(needed, 2 * dropped.capacity());
}

}  // namespace

void FairQueue::Push(std::unique_ptr<QueuedRequest>&& request) {
  Call* const call = FindOrAdd(*request);
  Client* const client = call->client;
  const Request& asked = request->request;
  const absl::Time deadline = asked.deadline;
  const bool is_new = call->runs.empty();
  const bool new_client = client->empty();
  try {
    if (is_new || call->runs.back().cancellation != asked.cancellation ||
        call->runs.back().deadline != deadline) {
      call->runs.push_back({asked.cancellation, deadline, {}});
    }
    call->runs.back().requests.push_back(std::move(request));
    if (is_new) Enter(call);
  } catch (...) {
    if (request == nullptr) {
      request = std::move(call->runs.back().requests.back());
    }
    if (is_new) {
      call->runs.clear();
      Erase(call_by_id_.find(call->id)->second);
    } else if (call->runs.back().requests.empty()) {
      call->runs.pop_back();
    }
    throw;
  }
  earliest_deadline_ = std::min(earliest_deadline_, deadline);
  Count(call, *call->runs.back().requests.back(), 1);
  // The call may be the client's first in turn.
  if (is_new && !new_client) clients_.Reprice(client);
}

void FairQueue::Enter(Call* call) {
  Client* const client = call->client;
  const bool new_client = client->empty();
  client->calls.Enter(call);
  if (!new_client) return;
  try {
    clients_.Enter(client);
  } catch (...) {
    client->calls.Leave(call);
    throw;
  }
}

FairQueue::Calls::iterator FairQueue::Erase(Calls::iterator call) {
  Client* const client = call->client;
  call_by_id_.erase(call->id);
  if (next_look_ == call) ++next_look_;
  const auto next = calls_.erase(call);
  ForgetIfIdle(client);
  return next;
}

FairQueue::Call* FairQueue::FindOrAdd(const QueuedRequest& request) {
  const auto found = call_by_id_.find(request.call);
  if (found != call_by_id_.end()) return &*found->second;
  Client* const client = FindOrAdd(request.request.client);
  try {
    calls_.push_back({.id = request.call, .client = client});
    try {
      call_by_id_.emplace(request.call, std::prev(calls_.end()));
    } catch (...) {
      calls_.pop_back();
      throw;
    }
  } catch (...) {
    ForgetIfIdle(client);
    throw;
  }
  return &calls_.back();
}

FairQueue::Client* FairQueue::FindOrAdd(ClientId id) {
  const auto found = client_by_id_.find(id);
  if (found != client_by_id_.end()) return found->second.get();
  auto client = std::make_unique<Client>(id, quantum_);
  return client_by_id_.emplace(id, std::move(client)).first->second.get();
}

void FairQueue::ForgetIfIdle(Client* client) {
  if (client->empty() && client->calls_in_transit == 0) {
    client_by_id_.erase(client->id);
  }
}

void FairQueue::AddInTransit(ClientId client) {
  ++FindOrAdd(client)->calls_in_transit;
  ++calls_in_transit_;
}

void FairQueue::RemoveInTransit(ClientId client) {
  Client* const its = client_by_id_.find(client)->second.get();
  --its->calls_in_transit;
  --calls_in_transit_;
  ForgetIfIdle(its);
}

int64_t FairQueue::calls_in_transit(ClientId client) const {
  const auto found = client_by_id_.find(client);
  return found == client_by_id_.end() ? 0 : found->second->calls_in_transit;
}

int64_t FairQueue::TokensBefore(ClientId client, CallId call, int64_t tokens,
                                int64_t tokens_per_call) const {
  const auto before = [&](int64_t own, int64_t others, int64_t all) {
    return std::min(all, own + others * std::max(own + tokens, quantum_));
  };
  const bool counts = tokens_per_call > 0;  // whether calls in transit count
  int64_t own = 0;                          // the client's part
  int64_t other_clients = counts ? client_by_id_.size() : clients_.size();
  if (const auto found = client_by_id_.find(client);
      found != client_by_id_.end()) {
    const Client& its = *found->second;
    const auto same = call_by_id_.find(call);
    const bool waits = same != call_by_id_.end();
    const int64_t coming = counts ? its.calls_in_transit : 0;
    own = before(waits ? same->second->tokens : 0,
                 its.calls.size() - waits + coming,
                 its.tokens + coming * tokens_per_call);
    other_clients -= counts || !its.empty();
  }
  return before(own, other_clients,
                tokens_ + calls_in_transit_ * tokens_per_call);
}

std::unique_ptr<QueuedRequest> FairQueue::Dequeue(Decide decide,
                                                  Dropped* late) {
  for (;;) {
    if (late != nullptr) late->reserve(RoomFor(*late, 1));
    const auto [call, verdict] = Find(decide);
    if (call == nullptr) return nullptr;
    const int64_t price = call->price();
    std::unique_ptr<QueuedRequest> request = Pop(call);
    if (verdict == Verdict::kTake) {
      call->client->calls.Pay(call, price);
      clients_.Pay(call->client, price);
      if (call->empty()) Settle(call_by_id_.find(call->id)->second);
      return request;
    }
    late->push_back({std::move(request), TooLateStatus()});
    Settle(call_by_id_.find(call->id)->second);
  }
}

std::pair<FairQueue::Call*, FairQueue::Verdict> FairQueue::Find(Decide decide) {
  for (Client* const client : clients_) {
    for (Call* const call : client->calls) {
      if (call->skipped_in == pass_) continue;
      const Verdict verdict = decide(*call->runs.front().requests.front());
      if (verdict == Verdict::kStop) return {nullptr, verdict};
      if (verdict == Verdict::kSkipClient) break;
      if (verdict != Verdict::kSkip) return {call, verdict};
      call->skipped_in = pass_;
    }
  }
  return {nullptr, Verdict::kStop};
}

std::unique_ptr<QueuedRequest> FairQueue::Pop(Call* call) {
  Run& run = call->runs.front();
  std::unique_ptr<QueuedRequest> request = std::move(run.requests.front());
  run.requests.pop_front();
  if (run.requests.empty()) call->runs.pop_front();
  Count(call, *request, -1);
  return request;
}

void FairQueue::Count(Call* call, const QueuedRequest& request, int sign) {
  const int64_t tokens = sign * request.cost.tokens;
  call->tokens += tokens;
  call->client->tokens += tokens;
  tokens_ += tokens;
  requests_ += sign;
}

FairQueue::Calls::iterator FairQueue::Settle(Calls::iterator call) {
  Client* const client = call->client;
  if (!call->empty()) {
    client->calls.Reprice(&*call);
    clients_.Reprice(client);
    return std::next(call);
  }
  client->calls.Leave(&*call);
  if (client->empty()) {
    clients_.Leave(client);
  } else {
    clients_.Reprice(client);
  }
  return Erase(call);
}

void FairQueue::DropDead(absl::Time now, Dropped* dropped) {
  size_t looks = std::min(calls_.size(), kLooks);
  if (earliest_deadline_ <= now) {
    // A deadline passed: look at all calls, which also finds the next deadline.
    looks = calls_.size();
    earliest_deadline_ = absl::InfiniteFuture();
  }
  try {
    for (; looks > 0; --looks) {
      if (next_look_ == calls_.end()) next_look_ = calls_.begin();
      next_look_ = DropDeadOf(next_look_, now, dropped);
    }
  } catch (...) {
    earliest_deadline_ = now;  // the next call looks at all again
    throw;
  }
}

bool FairQueue::IsDead(const Run& run, absl::Time now) {
  return run.deadline <= now ||
         (run.cancellation != nullptr && run.cancellation->cancelled());
}

FairQueue::Calls::iterator FairQueue::DropDeadOf(Calls::iterator call,
                                                 absl::Time now,
                                                 Dropped* dropped) {
  size_t dead = 0;
  for (const Run& run : call->runs) {
    if (IsDead(run, now)) dead += run.requests.size();
  }
  absl::Status late;
  if (dead > 0) {
    dropped->reserve(RoomFor(*dropped, dead));
    late = DeadlineStatus("queued");
  }
  const size_t before = dropped->size();
  for (Run& run : call->runs) {
    // A run that died just now may have no place; it is dropped next time.
    const bool has_place = dead > 0 && dropped->size() + run.requests.size() <=
                                           dropped->capacity();
    if (has_place && run.cancellation != nullptr &&
        run.cancellation->cancelled()) {
      DropRun(&*call, &run, CancelledStatus(), dropped);
    } else if (has_place && run.deadline <= now) {
      DropRun(&*call, &run, late, dropped);
    } else {
      earliest_deadline_ = std::min(earliest_deadline_, run.deadline);
    }
  }
  if (dropped->size() == before) return std::next(call);
  std::erase_if(call->runs, [](const Run& r) { return r.requests.empty(); });
  return Settle(call);
}

void FairQueue::DropAll(const absl::Status& status, Dropped* dropped) {
  dropped->reserve(RoomFor(*dropped, static_cast<size_t>(requests_)));
  for (auto call = calls_.begin(); call != calls_.end();) {
    for (Run& run : call->runs) DropRun(&*call, &run, status, dropped);
    call->runs.clear();
    call = Settle(call);
  }
  earliest_deadline_ = absl::InfiniteFuture();
}

void FairQueue::DropRun(Call* call, Run* run, const absl::Status& status,
                        Dropped* dropped) {
  for (std::unique_ptr<QueuedRequest>& request : run->requests) {
    Count(call, *request, -1);
    dropped->push_back({std::move(request), status});
  }
  run->requests.clear();
}

}  // namespace trivium
