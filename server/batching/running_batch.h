#ifndef TRIVIUM_SERVER_BATCHING_RUNNING_BATCH_H_
#define TRIVIUM_SERVER_BATCHING_RUNNING_BATCH_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "model/engine.h"
#include "server/batching/background_share.h"
#include "server/batching/batch_totals.h"
#include "server/batching/batching_observer.h"
#include "server/batching/fair_queue.h"
#include "server/batching/iteration_costs.h"
#include "server/batching/sequence.h"
#include "server/batching/source_table.h"
#include "server/batching/step_listener.h"

namespace trivium {

// The requests of one model that one worker runs: they join and leave at any
// iteration. Not thread-safe: used by one worker. Calls observers, so never
// called with a lock held, except CanJoin and Add, which call no observer.
//
// Rows are reserved when a request joins; KV blocks are not. A request joins if
// there is room for its source, its prefix, and one more block for each
// hypothesis that may run. If an iteration needs more blocks than are free, the
// last request that holds some is suspended and gives them up, until there is
// room. Suspended requests resume in order, before any newcomer that needs
// blocks. The order is: the oldest request of all, then the interactive ones,
// then the background ones, each by arrival. So the oldest request is never
// held up; and since no request is admitted that cannot run alone, every
// request ends.
//
// Interactive requests find rows, blocks and time as if there were no
// background ones. An iteration runs as many background requests as
// BackgroundShare has seconds for, the oldest first. The others are paused:
// they keep what they hold and wait.
//
//   batch.DropDead();
//   while (next = queue.Dequeue(batch.CanJoin)) batch.Add(next);
//   batch.Iterate();
class RunningBatch {
 public:
  struct Options {
    ModelHandle model = nullptr;  // for the observer
    int worker = 0;
    // Bound on the encoder work of one iteration, in tokens through all layers;
    // see EncodeBudget.
    int encode_budget_tokens = 2048;
    int max_rows = kMostStepTokens;
    bool fixed_rows = false;  // see RowLimit
    bool speculate = true;    // guess tokens when that is worth it: DraftBudget
    // The worker's, of all its models; null: there is only this model.
    BackgroundShare* share = nullptr;
    const Clock* clock = Clock::Real();
    BatchingObserver* observer = nullptr;  // may be null
    StepListener* steps = nullptr;         // may be null
  };

  // Takes `engine` unless it throws for lack of memory.
  RunningBatch(const Options& options, std::unique_ptr<Engine>&& engine);
  // All requests must have been answered, for instance by Abort.
  ~RunningBatch();

  // Sets how many requests wait in the queue for this batch, and how many of
  // them are interactive.
  void set_waiting(int64_t requests, int64_t interactive) {
    waiting_ = {interactive, requests};
  }

  // Decides whether a newcomer may join now. Calls that run nothing here are
  // preferred, so that a lone request starts at once beside a long stream:
  // - Newcomers join while the waiting encoder work is below the next
  //   iteration's budget; those of new calls while it is below four times the
  //   largest budget.
  // - The last eighth of rows and KV blocks is for new calls. While few calls
  //   run, new ones may also exceed RowLimit.
  // - While few clients run, those that run nothing here may exceed RowLimit,
  //   too. So a client whose many calls fill the batch does not make the next
  //   one wait until they end.
  // - While requests are suspended, only newcomers without KV blocks join.
  // If a new call's request does not fit, no request may overtake it, except
  // that a bounded number of clients that run nothing here may if it lacks
  // rows. If a request of a running call does not fit, no running call may
  // overtake it. So each request finds room in the end, however many rows it
  // needs. For interactive requests, everything that background ones hold
  // counts as free, except the rows of one of these.
  FairQueue::Verdict CanJoin(const QueuedRequest& request);
  // Takes `request` unless it throws for lack of memory.
  void Add(std::unique_ptr<QueuedRequest>&& request);

  // Answers requests that are cancelled or past their deadlines.
  void DropDead();
  // Runs one iteration: plans it, steps the engine, applies the results, and
  // answers finished requests. If the engine fails, the requests in the plan
  // are answered INTERNAL; so are requests whose numbers are not finite. Throws
  // nothing: if memory runs out, the requests that this concerns are answered
  // RESOURCE_EXHAUSTED; an exception outside the step concerns all.
  void Iterate();
  // Answers all requests with `status`.
  void Abort(const absl::Status& status);
  // Does the same while the engine is in a step that does not return, without
  // touching the engine. Called by another thread than Iterate's, which must
  // not go on meanwhile (StepListener::OnStepReturned).
  void GiveUpStep(const absl::Status& status);

  const ServedModel& model() const { return *options_.model; }
  bool empty() const { return sequences_.empty(); }
  // True if a background request should join before interactive ones, because
  // none runs here.
  bool wants_background() const {
    return requests(Priority::kBackground) == 0 &&
           (!empty() || background_waits_);
  }
  // Running requests of this priority alone.
  int64_t requests(Priority priority) const {
    return totals_.requests(priority);
  }
  // Upper bound on the work left for requests of this priority and more urgent
  // ones.
  int64_t pending_tokens(Priority priority) const {
    return totals_.of(priority).pending_tokens;
  }
  // Rows that requests of this priority and more urgent ones reserve, counting
  // a request without rows as one.
  int64_t running_rows(Priority priority) const {
    const BatchTotals::Totals& totals = totals_.of(priority);
    return std::max(totals.reserved_rows, totals.requests);
  }
  // Returns the pending tokens that iterations have done since the last call.
  int64_t TakeDone() { return std::exchange(done_tokens_, 0); }
  // Sets `source_keys` to those of the requests answered since the last call.
  void TakeAnswered(std::vector<uint64_t>* source_keys);

 private:
  // running_batch.cc: from arrival to answer.
  void IterateOnce();
  // Steps the engine; an exception becomes its status.
  absl::Status Step();
  // Answers all requests after an exception at any point of an iteration.
  void FailAll(const absl::Status& status);
  void OpenNewcomers();
  void Measure(absl::Time begin, absl::Time end);
  void ApplyResults(absl::Time now);
  void AnswerNotFinite(Sequence* sequence);
  void FailPlan(const absl::Status& status);
  void Answer(Sequence* sequence, absl::StatusOr<RequestResult> result);
  // Tells the request's observer and those who count; the sequence still holds
  // what it has in the engine.
  void Tell(Sequence* sequence, absl::StatusOr<RequestResult> result);
  // Removes the answered sequences, recounts the totals, and sets order_.
  void RemoveFinished();
  void Report(absl::Time begin, absl::Time end, int running);
  void ReportToken(Sequence* sequence, absl::Time now);

  // running_batch_plan.cc: the work of one iteration.
  void MakePlan();
  // Pauses the background requests for which there are no rows, or no time in
  // so many seconds. Returns the seconds that are left.
  double PauseBackground(double seconds);
  // Lets sequences guess tokens as far as that is worth it. Returns how many.
  int Draft();
  int EncodeTokens(Priority priority) const;
  // Tokens of the plan, those of encoder layers as tokens through all layers.
  int64_t PlannedTokens() const;

  // running_batch_room.cc: rows and KV blocks.
  // Suspends requests until the plan finds room.
  void MakeRoom();
  // Suspends background requests until the engine has room for the newcomer's
  // source.
  void MakeRoomFor(const Sequence& newcomer);
  void Suspend(Sequence* sequence);
  void ResumeSuspended();
  // Returns the last sequence in order_ that may hold KV blocks, or null.
  Sequence* LastHolder();
  // Free KV blocks that no sequence here is about to use.
  int64_t UnclaimedBlocks() const;

  const Options options_;
  std::unique_ptr<Engine> engine_;
  SourceTable sources_;
  // By arrival; answered ones stay until the next RemoveFinished.
  std::vector<std::unique_ptr<Sequence>> sequences_;
  size_t opened_ =
      0;  // sequences that the engine knows; the rest are newcomers
  // The opened sequences: the oldest, the interactive, the background ones.
  std::vector<Sequence*> order_;
  BatchTotals totals_;  // over sequences_

  BackgroundShare own_share_;  // used if Options::share is null
  BackgroundShare* const share_;
  IterationCosts costs_;

  // State of joining.
  absl::flat_hash_map<CallId, int> requests_of_call_;
  absl::flat_hash_map<ClientId, int> requests_of_client_;
  std::array<int64_t, kPriorities> waiting_ = {};  // interactive; all
  // A running call's request did not fit since the last RemoveFinished.
  std::array<bool, kPriorities> lacks_room_ = {};
  // An interactive request of a new call, whose client runs others, lacked rows
  // since the last RemoveFinished. How often such requests were overtaken since
  // one joined in its turn.
  bool only_new_clients_ = false;
  int overtaken_ = 0;
  // A background request did not fit although none runs.
  bool background_waits_ = false;

  // Work since the worker last asked.
  std::vector<uint64_t> answered_;
  int64_t done_tokens_ = 0;

  // The iteration under way.
  int prefill_tokens_ = 0;  // in its plan, at most
  int draft_tokens_ = 0;    // in its plan
  bool limited_ = false;    // background requests have bounded seconds
  int paused_ = 0;          // paused requests that have rows
  StepPlan plan_;
  StepResult result_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_RUNNING_BATCH_H_
