#ifndef TRIVIUM_SERVER_BATCHING_BATCHING_OBSERVER_H_
#define TRIVIUM_SERVER_BATCHING_BATCHING_OBSERVER_H_

#include <cstdint>

#include "absl/time/time.h"
#include "model/engine.h"
#include "server/batching/request.h"
#include "server/batching/served_model.h"
#include "server/batching/step_listener.h"

namespace trivium {

// Receives the batcher's events, for metrics. Called on the workers' threads
// and on Submit's; implementations are thread-safe and do not block.
class BatchingObserver {
 public:
  virtual ~BatchingObserver() = default;

  struct Iteration {
    const ServedModel& model;
    int worker = 0;
    int encoder_rows = 0, decoder_rows = 0, padding_rows = 0;
    int running = 0;  // requests of the model on this worker
    absl::Duration duration;
    PhaseSeconds phases;
  };
  virtual void OnIteration(const Iteration& iteration) {}
  // The time after an iteration's step: choosing tokens, stop conditions,
  // answers.
  virtual void OnSearch(const ServedModel& model, absl::Duration duration) {}
  virtual void OnQueued(const ServedModel& model, int64_t waiting_tokens,
                        int64_t waiting_requests) {}
  virtual void OnStarted(const ServedModel& model, Priority priority,
                         absl::Duration queue_wait) {}
  virtual void OnSharedSource(const ServedModel& model) {}
  // A running request was suspended for lack of KV blocks.
  virtual void OnSuspended(const ServedModel& model) {}
  // A request was answered INTERNAL because the model computed infinities or
  // NaNs.
  virtual void OnNotFinite(const ServedModel& model) {}
  // A step of the model's engine has not returned in time, or has returned
  // after that.
  virtual void OnStepStalled(const StepStall& stall) {}
  // `tokens` of a prefix were not read because their KV blocks were cached.
  virtual void OnPrefixFound(const ServedModel& model, int64_t tokens) {}
  // A step read `drafted` guessed tokens; the search chose the first `accepted`
  // of them.
  virtual void OnDrafted(const ServedModel& model, int drafted, int accepted) {}
  virtual void OnFirstToken(const ServedModel& model,
                            absl::Duration since_submit) {}
  virtual void OnNextToken(const ServedModel& model,
                           absl::Duration since_last) {}
  // `stage`: "queued" or "running".
  virtual void OnDeadlineMissed(const ServedModel& model, const char* stage) {}
  virtual void OnRejected(const ServedModel& model, const char* reason) {}
  // Number of requests that the worker runs now.
  virtual void OnRunning(int worker, const ServedModel& model, int requests) {}
  virtual void OnBlocks(int worker, const ServedModel& model, int used,
                        int total) {}
  // Called for requests whose results may be cached.
  virtual void OnCacheLookup(const ServedModel& model, bool hit) {}
  virtual void OnCacheSize(int64_t bytes, int64_t results) {}
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_BATCHING_OBSERVER_H_
