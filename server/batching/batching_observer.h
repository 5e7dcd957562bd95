#ifndef TRIVIUM_SERVER_BATCHING_BATCHING_OBSERVER_H_
#define TRIVIUM_SERVER_BATCHING_BATCHING_OBSERVER_H_

#include <cstdint>

#include "absl/time/time.h"
#include "model/engine.h"
#include "server/batching/request.h"
#include "server/batching/served_model.h"

namespace trivium {

// Sees what the batcher does, for metrics. Called on workers' threads and on
// Submit's; implementations are thread-safe and do not block.
class BatchingObserver {
 public:
  virtual ~BatchingObserver() = default;

  struct Iteration {
    const ServedModel& model;
    int worker = 0;
    int encoder_rows = 0, decoder_rows = 0, padding_rows = 0;
    int running = 0;  // requests of this worker in the iteration
    absl::Duration duration;
    PhaseSeconds phases;
  };
  virtual void OnIteration(const Iteration& iteration) {}
  // After an iteration: picking tokens, stop conditions, answers.
  virtual void OnSearch(const ServedModel& model, absl::Duration duration) {}
  virtual void OnQueued(const ServedModel& model, int64_t waiting_tokens,
                        int64_t waiting_requests) {}
  virtual void OnStarted(const ServedModel& model, Priority priority,
                         absl::Duration queue_wait) {}
  virtual void OnSharedSource(const ServedModel& model) {}
  // A running request was put back for want of KV blocks.
  virtual void OnSuspended(const ServedModel& model) {}
  // A request was answered INTERNAL: the model computed of it what is infinite
  // or not a number.
  virtual void OnNotFinite(const ServedModel& model) {}
  // So many tokens of a beginning need not be read, as their blocks are kept.
  virtual void OnPrefixFound(const ServedModel& model, int64_t tokens) {}
  // A step read so many guessed tokens, of which the search chose the first
  // `accepted` as well.
  virtual void OnDrafted(const ServedModel& model, int drafted, int accepted) {}
  virtual void OnFirstToken(const ServedModel& model,
                            absl::Duration since_submit) {}
  virtual void OnNextToken(const ServedModel& model,
                           absl::Duration since_last) {}
  // stage: "queued" or "running".
  virtual void OnDeadlineMissed(const ServedModel& model, const char* stage) {}
  virtual void OnRejected(const ServedModel& model, const char* reason) {}
  // Requests that a worker works on now.
  virtual void OnRunning(int worker, const ServedModel& model, int requests) {}
  virtual void OnBlocks(int worker, const ServedModel& model, int used,
                        int total) {}
  // Of requests whose results may be cached.
  virtual void OnCacheLookup(const ServedModel& model, bool hit) {}
  virtual void OnCacheSize(int64_t bytes, int64_t results) {}
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_BATCHING_OBSERVER_H_
