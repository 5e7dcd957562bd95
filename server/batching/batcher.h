#ifndef TRIVIUM_SERVER_BATCHING_BATCHER_H_
#define TRIVIUM_SERVER_BATCHING_BATCHER_H_

#include <cstdint>
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

// Shares the work of concurrent requests: admission bounded in tokens and in
// time, one queue, workers that each run a continuous batch. Thread-safe.
//
// Nothing is assigned to a worker in advance: each takes newcomers between two
// of its iterations, in the fair order of the queue (FairQueue), while it has
// less than its even share of all work and room for their worst case
// (Dispatcher, RunningBatch::CanJoin). What may be decided without a thread is
// decided in those classes; Worker is the thread around them.
//
//   auto batcher = Batcher::Create(options);
//   batcher->AddModel(model, std::move(engines));
//   batcher->Submit(batcher->NewCall(), std::move(requests));
//   ... observers hear of tokens and results on workers' threads
//   batcher->Drain(timeout);   // or the destructor, which cancels the rest
class Batcher {
 public:
  struct Options {
    // Worker threads; each has an engine of every model.
    int workers = 1;
    // Tokens that may wait: of every request that has not started, source +
    // prefix after the start token + beams (or samples) x max_new_tokens.
    int64_t max_waiting_tokens = 1 << 20;
    // Refuses calls whose first request would wait longer, as far as can be
    // foreseen.
    absl::Duration max_queue_wait = absl::InfiniteDuration();
    // Encoder rows x layers of newcomers that one iteration takes at most, in
    // units of whole-encoder tokens; as much less as keeps running requests
    // from stalling (EncodeBudget).
    int encode_budget_tokens = 2048;
    // Most decoder rows of one worker's iteration: hypotheses, and tokens of
    // prefixes that are read.
    int max_rows = kMostStepTokens;
    // Run as many as max_rows whenever they are there, instead of as many as
    // make a row cheapest (RowLimit).
    bool fixed_rows = false;
    // Read drafts ahead while few requests run (DraftBudget).
    bool speculate = true;
    // Keeps results for equal requests to come (ResultCache); 0: does not.
    int64_t result_cache_bytes = 0;
    const Clock* clock = Clock::Real();
    BatchingObserver* observer = nullptr;  // may be null; outlives the batcher
  };

  static absl::StatusOr<std::unique_ptr<Batcher>> Create(
      const Options& options);

  virtual ~Batcher() = default;

  // Serves a model from now on, beside the others, with one engine for each
  // worker. INVALID_ARGUMENT: more or fewer engines; ALREADY_EXISTS.
  using Engines = std::vector<std::unique_ptr<Engine>>;  // [workers]
  virtual absl::Status AddModel(ModelHandle model, Engines engines) = 0;
  // Takes no more requests for it. Those taken are answered as if nothing had
  // happened; then each worker frees its engine. Does not wait for that.
  // NOT_FOUND: it is not served.
  virtual absl::Status RemoveModel(const ServedModel& model) = 0;
  // Whether requests for it are taken now.
  virtual bool Serves(const ServedModel& model) const = 0;

  virtual CallId NewCall() = 0;

  // Takes all of the requests or none, and answers at once.
  // - INVALID_ARGUMENT: a request that could never run (options, longer than
  //   the model, more KV blocks than an empty worker has, more tokens than an
  //   empty queue takes); Submission::request says which.
  // - NOT_FOUND: a model that is not served, or not any more.
  // - RESOURCE_EXHAUSTED: full (Admission), or it would be late: answered
  //   after its deadline, or begun after max_queue_wait (Forecast).
  //   Submission::retry_after tells when to come again.
  // - UNAVAILABLE: draining.
  // Observers of refused requests hear nothing.
  virtual Submission Submit(CallId call, std::vector<Request> requests) = 0;

  // Before a call's texts are read: what Submit would say of it for lack of
  // time or room, if it were as calls lately are. OK where that is not known.
  // Where `model` is null, because the request itself has not been read: what
  // it would say whichever model is asked, after all calls that are on their
  // way; OK where one could take it.
  virtual Submission CheckAdmission(const ServedModel* model, Sender sender,
                                    CallId call, absl::Time deadline) = 0;

  // A call that CheckAdmission let pass is on its way: until Submit is asked to
  // take it, or it is forgotten, because nothing comes of it.
  virtual void AddInTransit(CallId call, Sender sender) = 0;
  // As often as anybody likes.
  virtual void RemoveInTransit(CallId call) = 0;

  // Tokens that a sender may still have queued before Submit refuses; streams
  // read on only while there is room.
  virtual int64_t free_waiting_tokens(Sender sender) const = 0;

  // Accepts nothing more and waits until all is answered or `timeout` passed
  // (real time), then cancels the rest with UNAVAILABLE. True if all finished.
  virtual bool Drain(absl::Duration timeout) = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_BATCHER_H_
