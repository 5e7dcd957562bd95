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

// The requests that wait for one model at one priority. The order is first in,
// first out within a call, and deficit round robin in tokens (Turns) between
// the calls of a client and between clients. So every client gets the same rate
// of tokens however many calls it has, and every call of a client however many
// requests. A call without waiting requests takes no memory, nor does a client
// that has neither waiting requests nor calls in transit. Not thread-safe.
//
// Workers take requests in passes. In a pass the worker decides about the next
// request (Verdict):
//   kTake   it runs now
//   kDrop   it cannot end before its deadline
//   kSkip   its call is skipped for the rest of the pass: another worker suits
//           it better, or there is room only for others
//   kSkipClient  there is room only for a request of another client, which may
//           overtake this one
//   kStop   the pass ends: no other request may overtake this one
// A turn passes only when a request is taken, and skipped calls earn nothing:
// otherwise a call that waits for room would earn more than the other calls
// that wait.
//
// Neighbouring requests of a call with the same cancellation and deadline form
// a run. A search for dead requests costs one look a run: 10,000 sentences of
// one stream are one run. While many calls wait, the search for cancelled ones
// visits a few calls at a time.
class FairQueue {
 public:
  enum class Verdict { kTake, kDrop, kSkip, kSkipClient, kStop };
  using Decide = absl::FunctionRef<Verdict(QueuedRequest&)>;
  using Dropped = std::vector<DroppedRequest>;

  explicit FairQueue(int64_t quantum) : quantum_(quantum), clients_(quantum) {}

  // Takes `request` unless it throws for lack of memory.
  void Push(std::unique_ptr<QueuedRequest>&& request);

  // A call of the client starts or ends being in transit to the queue.
  void AddInTransit(ClientId client);
  void RemoveInTransit(ClientId client);
  int64_t calls_in_transit(ClientId client) const;
  int64_t all_calls_in_transit() const { return calls_in_transit_; }

  // Upper bound on the waiting tokens that are taken before `tokens` more of
  // this client and call. Each call in transit counts as `tokens_per_call`
  // waiting tokens; with 0 they do not count at all.
  int64_t TokensBefore(ClientId client, CallId call, int64_t tokens,
                       int64_t tokens_per_call = 0) const;

  void BeginPass() { ++pass_; }
  // Returns the next request that `decide` takes, or null when it stops or
  // nothing is left. Requests that it drops go to `late`, which may be null if
  // it never drops.
  std::unique_ptr<QueuedRequest> Dequeue(Decide decide,
                                         Dropped* late = nullptr);

  // Moves to `dropped` all requests past their deadlines, and the cancelled
  // ones of kLooks calls. The next call of DropDead continues after these
  // calls.
  static constexpr size_t kLooks = 64;
  void DropDead(absl::Time now, Dropped* dropped);
  void DropAll(const absl::Status& status, Dropped* dropped);

  int64_t tokens() const { return tokens_; }
  int64_t requests() const { return requests_; }
  // A lower bound on the deadlines of the waiting requests.
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
    std::deque<Run> runs = {};  // no run is empty
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
    int64_t calls_in_transit = 0;
    Turn turn;

    bool empty() const { return calls.empty(); }
    int64_t price() const { return calls.first().price(); }
  };
  using Calls = std::list<Call>;  // by arrival

  // Puts a new call, with its first request, among its client's turns.
  void Enter(Call* call);
  // Erases a call that is in no turns. Returns the next one.
  Calls::iterator Erase(Calls::iterator call);
  static bool IsDead(const Run& run, absl::Time now);
  Client* FindOrAdd(ClientId id);
  void ForgetIfIdle(Client* client);
  Call* FindOrAdd(const QueuedRequest& request);
  // Returns the next call whose first request is taken or dropped, else null.
  std::pair<Call*, Verdict> Find(Decide decide);
  // Removes and returns a call's first request. The caller updates the turn.
  std::unique_ptr<QueuedRequest> Pop(Call* call);
  void Count(Call* call, const QueuedRequest& request, int sign);
  // Called after requests of a call were dropped, or its last one was taken.
  // Moves the call and its client to their new places, or erases them. Returns
  // the next call.
  Calls::iterator Settle(Calls::iterator call);
  // Drops a call's dead requests. Returns the next call.
  Calls::iterator DropDeadOf(Calls::iterator call, absl::Time now,
                             Dropped* dropped);
  void DropRun(Call* call, Run* run, const absl::Status& status,
               Dropped* dropped);

  const int64_t quantum_;
  Turns<Client> clients_;  // clients with waiting requests
  // These, and the clients with calls in transit.
  absl::flat_hash_map<ClientId, std::unique_ptr<Client>> client_by_id_;
  Calls calls_;  // calls with waiting requests
  absl::flat_hash_map<CallId, Calls::iterator> call_by_id_;
  Calls::iterator next_look_ = calls_.end();
  uint64_t pass_ = 1;
  int64_t tokens_ = 0;
  int64_t requests_ = 0;
  int64_t calls_in_transit_ = 0;  // of all clients
  absl::Time earliest_deadline_ = absl::InfiniteFuture();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_FAIR_QUEUE_H_
