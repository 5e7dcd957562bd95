#ifndef TRIVIUM_SERVER_BATCHING_FAIR_QUEUE_H_
#define TRIVIUM_SERVER_BATCHING_FAIR_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "server/batching/queued_request.h"

namespace trivium {

// What waits for one model: first in, first out within a call, deficit round
// robin between calls (Shreedhar and Varghese, "Efficient Fair Queuing using
// Deficit Round Robin", 1995), in tokens. A call at its turn earns `quantum`
// tokens and may spend what it has saved, so each call gets the same rate of
// tokens however many and however long its requests are. Not thread-safe.
//
// Workers take in passes. In a pass a worker judges the next request: it takes
// it, skips its call for the rest of the pass (another worker is better for
// it, or there is room only for others) or stops (nothing may overtake this
// request). Turns pass only when something is taken, and not for calls that
// were skipped: else a call would earn by waiting for room what others that
// wait do not.
//
// A call's neighbouring requests with the same cancellation and deadline form
// a run, so that looking for dead requests costs one look a run: 10,000
// sentences of one stream are one run. Where many calls wait, cancelled ones
// are looked for in a few of them at a time.
class FairQueue {
 public:
  enum class Verdict { kTake, kSkip, kStop };
  using Judge = absl::FunctionRef<Verdict(QueuedRequest&)>;

  explicit FairQueue(int64_t quantum) : quantum_(quantum) {}

  void Push(std::unique_ptr<QueuedRequest> request);

  void BeginPass() { ++pass_; }
  // The next request that `judge` takes; null when it stops or nothing is
  // left.
  std::unique_ptr<QueuedRequest> Take(Judge judge);

  // Moves out all that is past its deadline, and what is cancelled of kLooks
  // calls; the next time goes on with the calls after those.
  static constexpr size_t kLooks = 64;
  void DropDead(absl::Time now, std::vector<DroppedRequest>* dropped);
  void DropAll(const absl::Status& status,
               std::vector<DroppedRequest>* dropped);

  int64_t tokens() const { return tokens_; }
  int64_t requests() const { return requests_; }
  // No waiting request's deadline is earlier.
  absl::Time earliest_deadline() const { return earliest_deadline_; }

 private:
  struct Run {
    std::shared_ptr<const Cancellation> cancellation;
    absl::Time deadline;
    std::deque<std::unique_ptr<QueuedRequest>> requests;
  };
  struct Call {
    CallId id;
    std::deque<Run> runs;     // none is empty
    int64_t deficit = 0;      // tokens it may spend
    bool at_turn = false;     // has earned this turn's quantum
    uint64_t skipped_in = 0;  // the last pass that skipped it
  };
  using Calls = std::list<Call>;

  std::unique_ptr<QueuedRequest> PopFront();
  // Rounds in which every call has a turn until this one, at its turn in the
  // round after them, can pay for its first request.
  int64_t RoundsToPay(const Call& call) const;
  // Lets as many rounds pass, and what is left until it is the turn of `next`,
  // which thus comes to the front.
  void PassTo(Calls::iterator next, int64_t rounds);
  Calls::iterator Erase(Calls::iterator call);
  // Drops what is dead of a call; returns the next one.
  Calls::iterator DropDeadOf(Calls::iterator call, absl::Time now,
                             std::vector<DroppedRequest>* dropped);
  void DropRun(Run* run, const absl::Status& status,
               std::vector<DroppedRequest>* dropped);

  const int64_t quantum_;
  Calls calls_;  // none is empty; the front one is at its turn
  absl::flat_hash_map<CallId, Calls::iterator> call_by_id_;
  Calls::iterator next_look_ = calls_.end();
  uint64_t pass_ = 1;
  int64_t tokens_ = 0;
  int64_t requests_ = 0;
  absl::Time earliest_deadline_ = absl::InfiniteFuture();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_FAIR_QUEUE_H_
