// Start-time fair queueing (Goyal, Vin and Cheng, 1996), in bytes, twice:
// between clients, and between the calls of each. A share's `served` is the
// cost of its work since it arrived, plus the `served` that the share served
// last had at that time:
//
//   on arrival:    served = now_served
//   on its turn:   now_served = served;  served += max(bytes, kLeastBytes)
//
// The share with the least `served` is next. So shares with work differ by at
// most the largest piece of work, and a new one waits for no backlog. The
// shares are those of deficit round robin (server/batching/fair_queue.h), but
// without its rounds, of which pieces larger than a quantum would need many.
//
// A share stays while its work runs, so the piece that it queues meanwhile
// continues its count. When work gives way, its own bytes are counted already,
// so shares with less come before it. Their short work is done inside it, on
// its thread, up to kPieceBytes each time, so that it makes progress as well.
#include "server/limits/work_pool.h"

#include <algorithm>
#include <utility>

#include "base/exceptions.h"
#include "base/thread.h"

namespace trivium {
namespace {

// The least cost of any work.
constexpr int64_t kLeastBytes = 256;

// The work that this thread does for a pool. No pool: none that may give way.
struct Doing {
  WorkPool* pool = nullptr;
  WorkPool::Owner owner = {};
};
thread_local Doing doing;

}  // namespace

WorkPool::WorkPool(int threads) {
  for (int i = 0; i < threads; ++i) {
    auto thread = StartThread([this] { Loop(); });
    if (thread) threads_.push_back(*std::move(thread));
  }
}

WorkPool::~WorkPool() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.SignalAll();
  for (Thread& thread : threads_) thread.join();
}

template <typename Key, typename Sharer>
Sharer& WorkPool::Sharers<Key, Sharer>::FindOrAdd(Key key) {
  const auto [entry, is_new] = all.try_emplace(key);
  if (is_new) {
    entry->second.served = now_served;
    entry->second.number = seen++;
  }
  return entry->second;
}

template <typename Key, typename Sharer>
void WorkPool::Sharers<Key, Sharer>::Enter(Key key) {
  const Share& share = all.at(key);
  turns.insert({share.served, share.number, key});
}

template <typename Key, typename Sharer>
void WorkPool::Sharers<Key, Sharer>::Withdraw(Key key) {
  const auto entry = all.find(key);
  const Share& share = entry->second;
  turns.erase({share.served, share.number, key});
  if (share.running == 0) all.erase(entry);
}

// Needs no memory.
template <typename Key, typename Sharer>
void WorkPool::Sharers<Key, Sharer>::Serve(Key key, int64_t bytes) {
  Sharer& sharer = all.at(key);
  auto node = turns.extract({sharer.served, sharer.number, key});
  now_served = sharer.served;
  sharer.served += static_cast<uint64_t>(bytes);
  ++sharer.running;
  if (!sharer.waits()) return;
  node.value().served = sharer.served;
  turns.insert(std::move(node));
}

template <typename Key, typename Sharer>
void WorkPool::Sharers<Key, Sharer>::Leave(Key key) {
  const auto entry = all.find(key);
  if (--entry->second.running == 0 && !entry->second.waits()) all.erase(entry);
}

void WorkPool::Run(Owner owner, int64_t bytes, std::function<void()> work) {
  MutexLock lock(&mutex_);
  Client& client = clients_.FindOrAdd(owner.client);
  const bool client_waits = client.waits();
  Call* call = nullptr;
  bool call_waits = false;
  try {
    call = &client.calls.FindOrAdd(owner.call);
    call_waits = call->waits();
    call->work.push_back({std::max(bytes, kLeastBytes), std::move(work)});
    if (!call_waits) client.calls.Enter(owner.call);
    if (!client_waits) clients_.Enter(owner.client);
  } catch (...) {
    // Only push_back can have thrown if there was work before.
    if (call != nullptr && !call_waits) {
      call->work.clear();
      client.calls.Withdraw(owner.call);
    }
    if (!client_waits) clients_.Withdraw(owner.client);
    throw;
  }
  // Under the lock: once this work is done, nothing may keep the pool alive.
  changed_.Signal();
}

int64_t WorkPool::RunLocked(Owner owner) {
  Client& client = clients_.all.at(owner.client);
  Call& call = client.calls.all.at(owner.call);
  Work work = std::move(call.work.front());
  call.work.pop_front();
  client.calls.Serve(owner.call, work.bytes);
  clients_.Serve(owner.client, work.bytes);
  mutex_.Unlock();
  CatchExceptions(work.run).IgnoreError();
  // Destroys its captures before the lock is taken.
  work.run = nullptr;
  mutex_.Lock();
  client.calls.Leave(owner.call);
  clients_.Leave(owner.client);
  return work.bytes;
}

void WorkPool::Loop() {
  mutex_.Lock();
  while (true) {
    while (clients_.turns.empty() && !stopping_) changed_.Wait(&mutex_);
    if (clients_.turns.empty()) break;
    const ClientId client = clients_.turns.begin()->key;
    const Owner owner = {client,
                         clients_.all.at(client).calls.turns.begin()->key};
    doing = {this, owner};
    RunLocked(owner);
  }
  mutex_.Unlock();
}

std::optional<WorkPool::Owner> WorkPool::NextShortLocked(Owner owner) {
  const auto& clients = clients_.all;
  // The first short work of a client's calls, of those served less than `most`.
  const auto next = [&](ClientId client, uint64_t most) {
    std::optional<Owner> found;
    const auto& calls = clients.at(client).calls;
    for (const auto& turn : calls.turns) {
      if (turn.served >= most) break;
      if (calls.all.at(turn.key).work.front().bytes > kPieceBytes) continue;
      found = {client, turn.key};
      break;
    }
    return found;
  };
  const Client& own = clients.at(owner.client);
  std::optional<Owner> found;
  for (const auto& turn : clients_.turns) {
    if (found || turn.served >= own.served) break;
    found = next(turn.key, UINT64_MAX);
  }
  return found ? found
               : next(owner.client, own.calls.all.at(owner.call).served);
}

void WorkPool::RunOthers(Owner owner) {
  MutexLock lock(&mutex_);
  for (int64_t bytes = 0; bytes < kPieceBytes;) {
    const std::optional<Owner> next = NextShortLocked(owner);
    if (!next) break;
    bytes += RunLocked(*next);
  }
}

void WorkPool::Yield() {
  const Doing outer = std::exchange(doing, {});
  if (outer.pool != nullptr) outer.pool->RunOthers(outer.owner);
  doing = outer;
}

}  // namespace trivium
