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

void FairQueue::Push(std::unique_ptr<QueuedRequest> request) {
  Call* const call = FindOrAdd(*request);
  Client* const client = call->client;
  const Request& asked = request->request;
  const bool is_new = call->runs.empty();
  if (is_new || call->runs.back().cancellation != asked.cancellation ||
      call->runs.back().deadline != asked.deadline) {
    call->runs.push_back({asked.cancellation, asked.deadline, {}});
  }
  earliest_deadline_ = std::min(earliest_deadline_, asked.deadline);
  Count(call, *request, 1);
  call->runs.back().requests.push_back(std::move(request));
  if (!is_new) return;
  const bool new_client = client->empty();
  client->calls.Enter(call);
  if (new_client) {
    clients_.Enter(client);
  } else {
    clients_.Reprice(client);  // the call may be the client's first in turn
  }
}

FairQueue::Call* FairQueue::FindOrAdd(const QueuedRequest& request) {
  auto [found, is_new] = call_by_id_.try_emplace(request.call);
  if (is_new) {
    calls_.push_back(
        {.id = request.call, .client = FindOrAdd(request.request.client)});
    found->second = std::prev(calls_.end());
  }
  return &*found->second;
}

FairQueue::Client* FairQueue::FindOrAdd(ClientId id) {
  std::unique_ptr<Client>& client = client_by_id_[id];
  if (client == nullptr) client = std::make_unique<Client>(id, quantum_);
  return client.get();
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
    ForgetIfIdle(client);
  } else {
    clients_.Reprice(client);
  }
  call_by_id_.erase(call->id);
  if (next_look_ == call) ++next_look_;
  return calls_.erase(call);
}

void FairQueue::DropDead(absl::Time now, Dropped* dropped) {
  size_t looks = std::min(calls_.size(), kLooks);
  if (earliest_deadline_ <= now) {
    // A deadline passed: look at all calls, which also finds the next deadline.
    looks = calls_.size();
    earliest_deadline_ = absl::InfiniteFuture();
  }
  for (; looks > 0; --looks) {
    if (next_look_ == calls_.end()) next_look_ = calls_.begin();
    next_look_ = DropDeadOf(next_look_, now, dropped);
  }
}

FairQueue::Calls::iterator FairQueue::DropDeadOf(Calls::iterator call,
                                                 absl::Time now,
                                                 Dropped* dropped) {
  const size_t before = dropped->size();
  for (Run& run : call->runs) {
    if (run.cancellation != nullptr && run.cancellation->cancelled()) {
      DropRun(&*call, &run, CancelledStatus(), dropped);
    } else if (run.deadline <= now) {
      DropRun(&*call, &run, DeadlineStatus("queued"), dropped);
    } else {
      earliest_deadline_ = std::min(earliest_deadline_, run.deadline);
    }
  }
  if (dropped->size() == before) return std::next(call);
  std::erase_if(call->runs, [](const Run& r) { return r.requests.empty(); });
  return Settle(call);
}

void FairQueue::DropAll(const absl::Status& status, Dropped* dropped) {
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
