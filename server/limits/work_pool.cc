// Start-time fair queueing (Goyal, Vin and Cheng, 1996), in bytes. A line's
// `served` is the cost of its work since it arrived, plus the `served` that the
// line served last had at that time:
//
//   on arrival:    served = now_served_
//   on its turn:   now_served_ = served;  served += max(bytes, kLeastBytes)
//
// The line with the least `served` is next. So lines with work differ by at
// most the largest piece of work, and a new line waits for no backlog. The
// shares are those of deficit round robin (server/batching/fair_queue.h), but
// without its rounds, of which pieces larger than a quantum would need many.
//
// A line stays while its work runs, so the piece that it queues meanwhile
// continues its count. When work gives way, its own bytes are counted already,
// so lines with less come before it. Their short work is done inside it, on its
// thread, up to kPieceBytes each time, so that it makes progress as well.
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
  const void* call = nullptr;
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

void WorkPool::Run(const void* call, int64_t bytes,
                   std::function<void()> work) {
  MutexLock lock(&mutex_);
  const auto [entry, is_new] = lines_.try_emplace(call);
  Line& line = entry->second;
  if (is_new) {
    line.served = now_served_;
    line.number = lines_seen_++;
  }
  const bool waits = !line.work.empty();
  try {
    line.work.push_back({std::max(bytes, kLeastBytes), std::move(work)});
    if (!waits) turns_.insert({line.served, line.number, call});
  } catch (...) {
    if (!waits) line.work.clear();
    if (is_new) lines_.erase(entry);
    throw;
  }
  // Under the lock: once this work is done, nothing may keep the pool alive.
  changed_.Signal();
}

int64_t WorkPool::RunLocked(Turn turn) {
  // Used again below: nothing here needs memory.
  auto node = turns_.extract(turn);
  const auto entry = lines_.find(turn.call);
  Line& line = entry->second;
  Work work = std::move(line.work.front());
  line.work.pop_front();
  now_served_ = line.served;
  line.served += static_cast<uint64_t>(work.bytes);
  ++line.running;
  if (!line.work.empty()) {
    node.value() = {line.served, line.number, turn.call};
    turns_.insert(std::move(node));
  }
  mutex_.Unlock();
  CatchExceptions(work.run).IgnoreError();
  // Destroys its captures before the lock is taken.
  work.run = nullptr;
  mutex_.Lock();
  if (--line.running == 0 && line.work.empty()) lines_.erase(entry);
  return work.bytes;
}

void WorkPool::Loop() {
  mutex_.Lock();
  while (true) {
    while (turns_.empty() && !stopping_) changed_.Wait(&mutex_);
    if (turns_.empty()) break;
    const Turn turn = *turns_.begin();
    doing = {this, turn.call};
    RunLocked(turn);
  }
  mutex_.Unlock();
}

const WorkPool::Turn* WorkPool::NextShortLocked(const void* call) {
  const uint64_t served = lines_.at(call).served;
  for (const Turn& turn : turns_) {
    if (turn.served >= served) break;
    if (turn.call != call &&
        lines_.at(turn.call).work.front().bytes <= kPieceBytes) {
      return &turn;
    }
  }
  return nullptr;
}

void WorkPool::RunOthers(const void* call) {
  MutexLock lock(&mutex_);
  for (int64_t bytes = 0; bytes < kPieceBytes;) {
    const Turn* turn = NextShortLocked(call);
    if (turn == nullptr) break;
    bytes += RunLocked(*turn);
  }
}

void WorkPool::Yield() {
  const Doing outer = std::exchange(doing, {});
  if (outer.pool != nullptr) outer.pool->RunOthers(outer.call);
  doing = outer;
}

}  // namespace trivium
