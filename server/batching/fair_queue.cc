#include "server/batching/fair_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

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
  size_t skipped = 0;   // calls skipped in a row: all of them ends the search
  size_t unjudged = 0;  // calls in a row that were skipped or too poor
  while (skipped < calls_.size()) {
    if (unjudged++ == calls_.size()) {
      PassRounds();
      unjudged = 1;
    }
    Call& call = calls_.front();
    if (call.skipped_in == pass_) {
      ++skipped;
      EndTurn();
      continue;
    }
    skipped = 0;
    if (!call.at_turn) {
      call.at_turn = true;
      call.deficit += quantum_;
    }
    QueuedRequest& next = *call.runs.front().requests.front();
    if (call.deficit < next.cost.tokens) {
      call.at_turn = false;
      EndTurn();
      continue;
    }
    switch (judge(next)) {
      case Verdict::kTake:
        return PopFront(&call);
      case Verdict::kSkip:
        // It keeps its turn: what it has earned and nothing more.
        call.skipped_in = pass_;
        ++skipped;
        unjudged = 1;
        EndTurn();
        break;
      case Verdict::kStop:
        return nullptr;
    }
  }
  return nullptr;
}

std::unique_ptr<QueuedRequest> FairQueue::PopFront(Call* call) {
  Run& run = call->runs.front();
  std::unique_ptr<QueuedRequest> request = std::move(run.requests.front());
  run.requests.pop_front();
  call->deficit -= request->cost.tokens;
  tokens_ -= request->cost.tokens;
  --requests_;
  if (run.requests.empty()) call->runs.pop_front();
  if (call->runs.empty()) {
    call_by_id_.erase(call->id);
    calls_.pop_front();
  }
  return request;
}

void FairQueue::PassRounds() {
  int64_t rounds = std::numeric_limits<int64_t>::max();
  for (const Call& call : calls_) {
    if (call.skipped_in == pass_) continue;
    const int64_t price = call.runs.front().requests.front()->cost.tokens;
    rounds = std::min(rounds, (price - call.deficit - 1) / quantum_);
  }
  for (Call& call : calls_) {
    if (call.skipped_in != pass_) call.deficit += rounds * quantum_;
  }
}

void FairQueue::EndTurn() {
  calls_.splice(calls_.end(), calls_, calls_.begin());
}

void FairQueue::DropDead(absl::Time now, std::vector<DroppedRequest>* dropped) {
  earliest_deadline_ = absl::InfiniteFuture();
  for (auto call = calls_.begin(); call != calls_.end();) {
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
    if (call->runs.empty()) {
      call_by_id_.erase(call->id);
      call = calls_.erase(call);
    } else {
      ++call;
    }
  }
}

void FairQueue::DropAll(const absl::Status& status,
                        std::vector<DroppedRequest>* dropped) {
  for (Call& call : calls_) {
    for (Run& run : call.runs) DropRun(&run, status, dropped);
  }
  calls_.clear();
  call_by_id_.clear();
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
