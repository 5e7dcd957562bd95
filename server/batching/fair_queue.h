#ifndef TRIVIUM_SERVER_BATCHING_FAIR_QUEUE_H_
#define TRIVIUM_SERVER_BATCHING_FAIR_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "server/batching/queued_request.h"
#include "server/batching/turns.h"

namespace trivium {

// What waits for one model at one priority: first in, first out within a call,
// deficit round robin in tokens between the calls of a client and between
// clients (Turns). So a client gets the same rate of tokens however many calls
// it has, and a call of it however many requests. Nothing is kept of a call of
// which nothing waits, or of a client of which no call is expected either. Not
// thread-safe.
//
// Workers take in passes. In a pass a worker judges the next request: it takes
// it, drops it, skips its call for the rest of the pass (another worker is
// better for it, or there is room only for others) or stops (nothing may
// overtake this request). Turns pass only when something is taken, and not for
// calls that were skipped: else a call would earn by waiting for room what
// others that wait do not.
//
// A call's neighbouring requests with the same cancellation and deadline form
// a run, so that looking for dead requests costs one look a run: 10,000
// sentences of one stream are one run. Where many calls wait, cancelled ones
// are looked for in a few of them at a time.
class FairQueue {
 public:
  enum class Verdict { kTake, kDrop, kSkip, kStop };
  using Decide = absl::FunctionRef<Verdict(QueuedRequest&)>;
  using Dropped = std::vector<DroppedRequest>;

  explicit FairQueue(int64_t quantum) : quantum_(quantum), clients_(quantum) {}

  void Push(std::unique_ptr<QueuedRequest> request);

  // A call of the client is on its way to the queue, or is not any more.
  void AddInTransit(ClientId client);
  void RemoveInTransit(ClientId client);
  int64_t calls_in_transit(ClientId client) const;  // calls
  int64_t all_calls_in_transit() const { return calls_in_transit_; }

  // Of what waits, the tokens that will be taken before so many more of this
  // client and call, at most. Calls that are on their way count as if each had
  // `tokens_per_call` tokens waiting.
  int64_t TokensBefore(ClientId client, CallId call, int64_t tokens,
                       int64_t tokens_per_call = 0) const;

  void BeginPass() { ++pass_; }
  // The next request that `decide` takes; null when it stops or nothing is
  // left. What it drops goes to `late`, which may be null where it drops none.
  std::unique_ptr<QueuedRequest> Take(Decide decide, Dropped* late = nullptr);

  // Moves out all that is past its deadline, and what is cancelled of kLooks
  // calls; the next time goes on with the calls after those.
  static constexpr size_t kLooks = 64;
  void DropDead(absl::Time now, Dropped* dropped);
  void DropAll(const absl::Status& status, Dropped* dropped);

  int64_t tokens() const { return tokens_; }
  int64_t requests() const { return requests_; }
  // No waiting request's deadline is earlier.
  absl::Time earliest_deadline() const { return earliest_deadline_; }

 private:
  struct Client;
  struct Run {
    std::shared_ptr<const Cancellation> cancellation;
    absl::Time deadline;
    std::deque<std::unique_ptr<QueuedRequest>> requests;
  };
  struct Call {
    CallId id;
    Client* client;
    std::deque<Run> runs = {};  // none is empty
    int64_t tokens = 0;
    Turn turn = {};
    uint64_t skipped_in = 0;  // the last pass that skipped it

    bool empty() const { return runs.empty(); }
    int64_t price() const { return runs.front().requests.front()->cost.tokens; }
  };
  struct Client {
    Client(ClientId id, int64_t quantum) : id(id), calls(quantum) {}

    const ClientId id;
    Turns<Call> calls;
    int64_t tokens = 0;
    int64_t calls_in_transit = 0;  // calls on their way
    Turn turn;

    bool empty() const { return calls.empty(); }
    int64_t price() const { return calls.first().price(); }
  };
  using Calls = std::list<Call>;  // in the order of their arrival

  Client* FindOrAdd(ClientId id);
  void ForgetIfIdle(Client* client);
  Call* FindOrAdd(const QueuedRequest& request);
  // The next call whose first request is to be taken or dropped, else null.
  std::pair<Call*, Verdict> Find(Decide decide);
  // Takes a call's first request away; its turn is for the caller to change.
  std::unique_ptr<QueuedRequest> Pop(Call* call);
  void Count(Call* call, const QueuedRequest& request, int sign);
  // After requests of a call were dropped, or its last was taken: puts it and
  // its client into their places, or forgets them. Returns the next call.
  Calls::iterator Settle(Calls::iterator call);
  // Drops what is dead of a call; returns the next one.
  Calls::iterator DropDeadOf(Calls::iterator call, absl::Time now,
                             Dropped* dropped);
  void DropRun(Call* call, Run* run, const absl::Status& status,
               Dropped* dropped);

  const int64_t quantum_;
  Turns<Client> clients_;  // none is empty
  // Those, and those of which calls are expected.
  absl::flat_hash_map<ClientId, std::unique_ptr<Client>> client_by_id_;
  Calls calls_;  // none is empty
  absl::flat_hash_map<CallId, Calls::iterator> call_by_id_;
  Calls::iterator next_look_ = calls_.end();
  uint64_t pass_ = 1;
  int64_t tokens_ = 0;
  int64_t requests_ = 0;
  int64_t calls_in_transit_ = 0;  // calls
  absl::Time earliest_deadline_ = absl::InfiniteFuture();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_FAIR_QUEUE_H_
