#include "server/batching/fair_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

// Between calls from outside:
// - calls_ and call_by_id_ have a call while it has a request that waits; with
//   its last request goes what it has saved. No run is empty.
// - calls_ stands in the order of the turns to come.
// - No deficit is below 0: a request is taken when its call has its price.
// - tokens_ and requests_ are sums over all that waits, and earliest_deadline_
//   is no later than any of its deadlines.
//
// Rounds are counted instead of played. With price p of its first request,
// deficit d and quantum q, a call lacks
//   turns = ceil(max(p - d, 0) / q)
// quanta. Where it has earned the quantum of its turn already, they take as
// many rounds more; where it has not, its next turn brings the first of them,
// and the rounds are one less. A call that is skipped in this pass earns
// nothing in the rounds that go by, and keeps the turn that it has.

namespace trivium {

void FairQueue::Push(std::unique_ptr<QueuedRequest> request) {
  auto [found, is_new] = call_by_id_.try_emplace(request->call);
  if (is_new) {
    calls_.push_back({.id = request->call, .runs = {}});
    found->second = std::prev(calls_.end());
  }
  std::deque<Run>& runs = found->second->runs;
  const Request& asked = request->request;
  if (runs.empty() || runs.back().cancellation != asked.cancellation ||
      runs.back().deadline != asked.deadline) {
    runs.push_back({asked.cancellation, asked.deadline, {}});
  }
  tokens_ += request->cost.tokens;
  ++requests_;
  earliest_deadline_ = std::min(earliest_deadline_, asked.deadline);
  runs.back().requests.push_back(std::move(request));
}

std::unique_ptr<QueuedRequest> FairQueue::Take(Judge judge) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  // Judged are first those that can pay at their next turn, then, as if so
  // many rounds had passed, those that can pay then.
  for (int64_t rounds = 0; rounds != kNever;) {
    int64_t next_rounds = kNever;
    for (auto call = calls_.begin(); call != calls_.end(); ++call) {
      if (call->skipped_in == pass_) continue;
      const int64_t needed = RoundsToPay(*call);
      if (needed > rounds) {
        next_rounds = std::min(next_rounds, needed);
        continue;
      }
      switch (judge(*call->runs.front().requests.front())) {
        case Verdict::kTake:
          PassTo(call, rounds);
          return PopFront();
        case Verdict::kSkip:
          call->skipped_in = pass_;
          break;
        case Verdict::kStop:
          return nullptr;
      }
    }
    rounds = next_rounds;
  }
  return nullptr;
}

int64_t FairQueue::RoundsToPay(const Call& call) const {
  const int64_t price = call.runs.front().requests.front()->cost.tokens;
  const int64_t missing = std::max<int64_t>(price - call.deficit, 0);
  const int64_t turns = (missing + quantum_ - 1) / quantum_;
  return call.at_turn ? turns : std::max<int64_t>(turns - 1, 0);
}

void FairQueue::PassTo(Calls::iterator next, int64_t rounds) {
  // A turn that a call has had in full is over.
  const auto earn = [this](Call* call, int64_t turns) {
    if (turns == 0 || call->skipped_in == pass_) return;
    call->deficit += (turns - call->at_turn) * quantum_;
    call->at_turn = false;
  };
  for (auto call = calls_.begin(); call != next; ++call) {
    earn(&*call, rounds + 1);
  }
  for (auto call = std::next(next); call != calls_.end(); ++call) {
    earn(&*call, rounds);
  }
  earn(&*next, rounds + 1);
  next->at_turn = true;
  calls_.splice(calls_.end(), calls_, calls_.begin(), next);
}

std::unique_ptr<QueuedRequest> FairQueue::PopFront() {
  Call& call = calls_.front();
  Run& run = call.runs.front();
  std::unique_ptr<QueuedRequest> request = std::move(run.requests.front());
  run.requests.pop_front();
  call.deficit -= request->cost.tokens;
  tokens_ -= request->cost.tokens;
  --requests_;
  if (run.requests.empty()) call.runs.pop_front();
  if (call.runs.empty()) Erase(calls_.begin());
  return request;
}

FairQueue::Calls::iterator FairQueue::Erase(Calls::iterator call) {
  call_by_id_.erase(call->id);
  if (next_look_ == call) ++next_look_;
  return calls_.erase(call);
}

void FairQueue::DropDead(absl::Time now, std::vector<DroppedRequest>* dropped) {
  size_t looks = std::min(calls_.size(), kLooks);
  if (earliest_deadline_ <= now) {  // then at all, to find the next one, too
    looks = calls_.size();
    earliest_deadline_ = absl::InfiniteFuture();
  }
  for (; looks > 0; --looks) {
    if (next_look_ == calls_.end()) next_look_ = calls_.begin();
    next_look_ = DropDeadOf(next_look_, now, dropped);
  }
}

FairQueue::Calls::iterator FairQueue::DropDeadOf(
    Calls::iterator call, absl::Time now,
    std::vector<DroppedRequest>* dropped) {
  for (Run& run : call->runs) {
    if (run.cancellation != nullptr && run.cancellation->cancelled()) {
      DropRun(&run, CancelledStatus(), dropped);
    } else if (run.deadline <= now) {
      DropRun(&run, DeadlineStatus("queued"), dropped);
    } else {
      earliest_deadline_ = std::min(earliest_deadline_, run.deadline);
    }
  }
  std::erase_if(call->runs, [](const Run& r) { return r.requests.empty(); });
  return call->runs.empty() ? Erase(call) : std::next(call);
}

void FairQueue::DropAll(const absl::Status& status,
                        std::vector<DroppedRequest>* dropped) {
  for (Call& call : calls_) {
    for (Run& run : call.runs) DropRun(&run, status, dropped);
  }
  calls_.clear();
  call_by_id_.clear();
  next_look_ = calls_.end();
  earliest_deadline_ = absl::InfiniteFuture();
}

void FairQueue::DropRun(Run* run, const absl::Status& status,
                        std::vector<DroppedRequest>* dropped) {
  for (std::unique_ptr<QueuedRequest>& request : run->requests) {
    tokens_ -= request->cost.tokens;
    --requests_;
    dropped->push_back({std::move(request), status});
  }
  run->requests.clear();
}

}  // namespace trivium
