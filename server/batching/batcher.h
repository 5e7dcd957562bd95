#ifndef TRIVIUM_SERVER_BATCHING_BATCHER_H_
#define TRIVIUM_SERVER_BATCHING_BATCHER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "server/batching/batching_observer.h"
#include "server/batching/request.h"
#include "server/batching/served_model.h"
#include "server/batching/submission.h"

namespace trivium {

// Runs concurrent requests together: admission bounded in tokens and in time,
// one queue a model, and workers that each run a continuous batch. Thread-safe.
//
// No request is assigned to a worker in advance. A worker takes newcomers
// between two of its iterations, in the fair order of the queue (FairQueue),
// while it has less than its even share of all work (Dispatcher) and while
// their sources and prefixes find KV blocks (RunningBatch::CanJoin). Blocks
// that a request may need later are not reserved; a request that cannot get
// them is suspended and continues later. These decisions are made in classes
// without threads; Worker is the thread around them.
//
//   auto batcher = Batcher::Create(options);
//   batcher->AddModel(model, std::move(engines));
//   batcher->Submit(batcher->NewCall(), std::move(requests));
//   ... observers receive tokens and results on the workers' threads
//   batcher->Drain(timeout);   // or the destructor, which cancels the rest
class Batcher {
 public:
  struct Options {
    // Number of worker threads; each has an engine of every model.
    int workers = 1;
    // Bound on the waiting tokens. A request that has not started counts
    // source + prefix after the start token + beams (or samples) x
    // max_new_tokens.
    int64_t max_waiting_tokens = 1 << 20;
    // Calls whose first request is forecast to wait longer are refused.
    absl::Duration max_queue_wait = absl::InfiniteDuration();
    // Bound on the encoder work of one iteration, in tokens through all layers.
    // EncodeBudget lowers it so that running requests do not stall.
    int encode_budget_tokens = 2048;
    // Bound on the decoder rows of one worker's iteration: hypotheses, and
    // prefix tokens.
    int max_rows = kMostStepTokens;
    // True: run up to max_rows whenever so many are there. False: run as many
    // as make a row cheapest (RowLimit).
    bool fixed_rows = false;
    // True: read guessed tokens ahead while few requests run (DraftBudget).
    bool speculate = true;
    // A step of an engine that lasts longer, beyond what its tokens take on a
    // slow machine, is given up: its requests are answered UNAVAILABLE, the
    // worker's other models go on, and its own go on when it returns. The
    // server passes 60 s by default.
    absl::Duration step_timeout = absl::InfiniteDuration();
    // Size of the cache of results for equal requests (ResultCache); 0: none.
    int64_t result_cache_bytes = 0;
    const Clock* clock = Clock::Real();
    BatchingObserver* observer = nullptr;  // may be null; outlives the batcher
  };

  static absl::StatusOr<std::unique_ptr<Batcher>> Create(
      const Options& options);

  virtual ~Batcher() = default;

  // Serves one more model from now on, with one engine for each worker.
  // INVALID_ARGUMENT: the number of engines is wrong. ALREADY_EXISTS. If it
  // throws for lack of memory, nothing has changed.
  using Engines = std::vector<std::unique_ptr<Engine>>;  // [workers]
  virtual absl::Status AddModel(ModelHandle model, Engines engines) = 0;
  // Accepts no more requests for the model. Accepted requests are answered as
  // usual; then each worker frees its engine. Does not wait for that.
  // NOT_FOUND: the model is not served.
  virtual absl::Status RemoveModel(const ServedModel& model) = 0;
  // True if requests for the model are accepted now.
  virtual bool Serves(const ServedModel& model) const = 0;

  virtual CallId NewCall() = 0;

  // Accepts all of the requests or none, and returns at once.
  // - INVALID_ARGUMENT: a request could never run (invalid options, longer than
  //   the model allows, more KV blocks than an empty worker has, more tokens
  //   than an empty queue takes); Submission::request is its index.
  // - NOT_FOUND: a model is not served, or not any more.
  // - RESOURCE_EXHAUSTED: the queue is full (Admission), or the call would be
  //   late: answered after its deadline, or started after max_queue_wait
  //   (Forecast). Submission::retry_after says when to retry.
  // - UNAVAILABLE: the batcher drains, or every worker's step of a model was
  //   given up; then Submission::retry_after is set.
  // Observers of refused requests are not called.
  virtual Submission Submit(CallId call, std::vector<Request> requests) = 0;

  // Returns Submit's likely refusal for lack of time or room, before the call's
  // texts are tokenized. It assumes that the call is like its client's recent
  // calls; OK if nothing is known of them. With a null `model` not even the
  // request was read: then calls in transit count as waiting, and the result is
  // OK if any model could accept the call.
  virtual Submission CheckAdmission(const ServedModel* model, Sender sender,
                                    CallId call, absl::Time deadline) = 0;

  // Counts a call that passed CheckAdmission as in transit: its message is
  // still being received. It counts until Submit is called for it, or until
  // RemoveInTransit.
  virtual void AddInTransit(CallId call, Sender sender) = 0;
  // Ends the count of a call that will not be submitted. May be called again,
  // and for calls that do not count.
  virtual void RemoveInTransit(CallId call) = 0;

  // Tokens that the sender may still submit before Submit refuses. Streams stop
  // reading at 0.
  virtual int64_t free_waiting_tokens(Sender sender) const = 0;

  // Number of steps that were given up and have not returned.
  virtual int stalled_steps() const { return 0; }
  // Calls `listener`, which may be null, when that number changes: on threads
  // of the batcher, and no more for the earlier one when this returns. It may
  // not call this.
  virtual void ListenForStalls(std::function<void(const StepStall&)> listener) {
  }

  // Accepts nothing more and waits until everything is answered or `timeout`
  // (real time) has passed, then answers the rest with UNAVAILABLE. Returns
  // true if everything finished.
  virtual bool Drain(absl::Duration timeout) = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_BATCHER_H_
