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
#include "server/batching/batching_observer.h"
#include "server/batching/draft_budget.h"
#include "server/batching/encode_budget.h"
#include "server/batching/fair_queue.h"
#include "server/batching/prefill_budget.h"
#include "server/batching/row_limit.h"
#include "server/batching/row_time.h"
#include "server/batching/sequence.h"
#include "server/batching/source_table.h"

namespace trivium {

// What one worker runs of one model: requests join and leave at any iteration.
// Not thread-safe: one worker's. Calls observers, so never with a lock held,
// except CanJoin and Add, which call nobody.
//
// Rows are reserved when a request joins; KV blocks are not. It joins where
// its source and prefix find room, with a block more for every hypothesis that
// may run. Where an iteration needs more blocks than are free, the last request
// that holds some is suspended and gives them up, until there is room; the
// suspended resume, the first one first, before anybody joins after them who
// needs blocks. First is the oldest of all; then come interactive requests, and
// then background requests, each in the order of arrival. So the oldest is
// never held up, and, since no request was admitted that cannot run alone,
// everybody ends.
//
// Interactive requests find rows, blocks and time as if there were no batch
// requests. Of these, an iteration runs as many as BackgroundShare has seconds
// for, the oldest first; the others rest: they keep what they have and wait.
//
//   batch.DropDead();
//   while (next = queue.Take(batch.CanJoin)) batch.Add(next);
//   batch.Iterate();
class RunningBatch {
 public:
  struct Options {
    ModelHandle model = nullptr;  // for the observer
    int worker = 0;
    // What one iteration encodes at most, in tokens through all layers; see
    // EncodeBudget.
    int encode_budget_tokens = 2048;
    int max_rows = kMostStepTokens;
    bool fixed_rows = false;  // else as many of them as are worth it: RowLimit
    bool speculate = true;  // guess tokens where that is worth it: DraftBudget
    // The worker's, of all its models; null: there is only this one.
    BackgroundShare* share = nullptr;
    const Clock* clock = Clock::Real();
    BatchingObserver* observer = nullptr;  // may be null
  };

  // Owns the engine.
  RunningBatch(const Options& options, std::unique_ptr<Engine> engine);
  // All requests must have been answered: Abort.
  ~RunningBatch();

  // So many requests wait in the queue for this batch, and of these so many
  // interactive ones.
  void set_waiting(int64_t requests, int64_t interactive) {
    waiting_ = {interactive, requests};
  }

  // Whether a newcomer may join now. A call that runs nothing here is served
  // better than one that does, so that a lone request starts at once beside a
  // long stream:
  // - newcomers join while less encoder work waits than the next iteration's
  //   budget; those of new calls up to four times the largest budget;
  // - the last eighth of rows and KV blocks is for new calls, and while these
  //   are few they may go beyond the rows that are worth it;
  // - while requests are suspended, only those join that need no KV blocks.
  // Nobody may overtake a new call's request that does not fit, and no call
  // that runs here may overtake another's that does not fit: so each finds
  // room in the end, however many rows it needs. For interactive requests, what
  // background requests have is room, but for the rows of one of them.
  FairQueue::Verdict CanJoin(const QueuedRequest& request);
  void Add(std::unique_ptr<QueuedRequest> request);

  // Answers what is cancelled or past its deadline.
  void DropDead();
  // One iteration: plans, steps, follows the results, answers what is done.
  // After an engine's error the requests of the plan are answered INTERNAL; of
  // numbers that are not finite those that they belong to.
  void Iterate();
  // Answers everything with `status`.
  void Abort(const absl::Status& status);

  bool empty() const { return sequences_.empty(); }
  // It runs no background request, and one is to join before interactive ones.
  bool wants_background() const {
    return requests(Priority::kBackground) == 0 &&
           (!empty() || background_waits_);
  }
  int64_t requests(Priority priority) const {
    return sums(priority).requests -
           (priority == Priority::kBackground
                ? sums(Priority::kInteractive).requests
                : 0);
  }
  // What its requests of this priority and those before it have still to do, at
  // most.
  int64_t pending_tokens(Priority priority) const {
    return sums(priority).pending_tokens;
  }
  // Rows that these run or will, or requests, where these are more.
  int64_t running_rows(Priority priority) const {
    return std::max(sums(priority).reserved_rows, sums(priority).requests);
  }
  // Tokens that iterations since the last call did of what was to do.
  int64_t TakeDone() { return std::exchange(done_tokens_, 0); }
  // The source keys of the requests answered since the last call.
  void TakeAnswered(std::vector<uint64_t>* source_keys);

 private:
  void OpenNewcomers();
  void ResumeSuspended();
  void MakePlan();
  // Lets background requests rest for which there are no rows, or not so many
  // seconds. Returns what is left of these.
  double PauseBackground(double seconds);
  // Rows of background requests that take no more than so many seconds.
  int RowsIn(double seconds) const;
  // Has the sequences guess where that is worth it; how many tokens.
  int Draft();
  // Suspends until the plan finds room.
  void MakeRoom();
  void Suspend(Sequence* sequence);
  // Suspends background requests until the engine has room for the source.
  void MakeRoomFor(const Sequence& newcomer);
  // The last one that holds KV blocks, or null.
  Sequence* LastHolder();
  // Free KV blocks that nobody here is about to take.
  int64_t UnclaimedBlocks() const;
  void ApplyResults(absl::Time now);
  void AnswerNotFinite(Sequence* sequence);
  void FailPlan(const absl::Status& status);
  void Report(absl::Time begin, absl::Time end, int running);
  void ReportToken(Sequence* sequence, absl::Time now);
  void Answer(Sequence* sequence, absl::StatusOr<RequestResult> result);
  // Removes the answered sequences, counts anew and puts them in order.
  void RemoveFinished();
  int EncodeTokens(Priority priority) const;
  // What the iteration cost tells for the next ones.
  void Learn(absl::Time begin, absl::Time end);

  // Of the requests of a priority and those before it.
  struct Sums {
    int64_t requests = 0;
    int64_t reserved_rows = 0;
    int64_t owed_blocks = 0;  // of those that are not suspended
    int64_t pending_tokens = 0;
    int64_t at_source = 0;    // those whose source is not encoded yet
    int64_t past_source = 0;  // those whose is, and that are not suspended
    int64_t searching = 0;    // of these, those that choose tokens
    int64_t suspended = 0;
    int64_t reading() const { return at_source + past_source - searching; }
  };
  const Sums& sums(Priority priority) const {
    return sums_[static_cast<int>(priority)];
  }
  const Sums& all() const { return sums(Priority::kBackground); }
  void Count(const Sequence& sequence);

  const Options options_;
  const std::unique_ptr<Engine> engine_;
  SourceTable sources_;
  // In order of arrival; answered ones stay until the next RemoveFinished.
  std::vector<std::unique_ptr<Sequence>> sequences_;
  size_t opened_ = 0;  // the rest are newcomers that the engine does not know
  absl::flat_hash_map<CallId, int> requests_of_call_;
  std::vector<uint64_t> answered_;

  // Those that the engine knows: the oldest, the interactive, the background
  // ones.
  std::vector<Sequence*> order_;

  std::array<Sums, kPriorities> sums_;  // over sequences_
  // Of background requests: the rows of the oldest, and what interactive ones
  // may have of their blocks.
  int64_t oldest_background_rows_ = 0;
  int64_t background_blocks_ = 0;

  EncodeBudget encode_budget_;
  PrefillBudget prefill_budget_;
  DraftBudget draft_budget_;
  RowLimit row_limit_;
  std::array<RowTime, 2> row_times_;  // not beside interactive ones, beside
  BackgroundShare own_share_;
  BackgroundShare* const share_;
  std::array<int64_t, kPriorities> waiting_ = {};  // as Sums
  int64_t done_tokens_ = 0;
  // A running call's request did not fit since the last RemoveFinished.
  std::array<bool, kPriorities> lacks_room_ = {};
  // A background request did not fit where none runs.
  bool background_waits_ = false;

  int prefill_tokens_ = 0;  // of the plan under way, at most
  int draft_tokens_ = 0;    // of it, guesses
  bool limited_ = false;    // background requests have so many seconds of it
  int paused_ = 0;          // requests that do nothing of it
  StepPlan plan_;
  StepResult result_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_RUNNING_BATCH_H_
