#ifndef TRIVIUM_SERVER_OBSERVABILITY_METRICS_H_
#define TRIVIUM_SERVER_OBSERVABILITY_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <array>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/batching/batching_observer.h"
#include "server/observability/held.h"
#include "server/observability/model_figures.h"
#include "server/observability/process_figures.h"

namespace trivium {

// All metrics of the server, in one Prometheus registry. A model's handles are
// made when it is added, so that no request waits for a lookup by name. Events
// of models that were not added do not count. Thread-safe.
//
//   Metrics metrics(workers);
//   metrics.AddModel(*model);
//   options.observer = &metrics;           // the batcher's events
//   metrics.OnCallDone(...);               // the calls' events
//   metrics.Text();                        // the page /metrics
class Metrics : public BatchingObserver {
 public:
  explicit Metrics(int workers);

  // Adds a model's series, labelled with its name. Models of one name share
  // them.
  void AddModel(const ServedModel& model);
  // Removes the model's series from the page.
  void RemoveModel(const ServedModel& model);

  void OnCallStarted(Rpc rpc);
  // `model`: null if the call named no existing model.
  void OnCallDone(Rpc rpc, const ServedModel* model, absl::StatusCode code,
                  absl::Duration duration);
  // A text was answered: its tokens.
  void OnTokens(const ServedModel& model, int64_t source, int64_t generated);
  // A text was truncated.
  void OnTruncated(const ServedModel& model);
  // Sets a limit of the server. `limit`: the flag's name without the leading
  // dashes.
  void SetLimit(const std::string& limit, int64_t value);

  void OnIteration(const Iteration& iteration) override;
  void OnSearch(const ServedModel& model, absl::Duration duration) override;
  void OnQueued(const ServedModel& model, int64_t waiting_tokens,
                int64_t waiting_requests) override;
  void OnStarted(const ServedModel& model, Priority priority,
                 absl::Duration queue_wait) override;
  void OnSharedSource(const ServedModel& model) override;
  void OnSuspended(const ServedModel& model) override;
  void OnNotFinite(const ServedModel& model) override;
  void OnStepStalled(const StepStall& stall) override;
  void OnPrefixFound(const ServedModel& model, int64_t tokens) override;
  void OnDrafted(const ServedModel& model, int drafted, int accepted) override;
  void OnFirstToken(const ServedModel& model,
                    absl::Duration since_submit) override;
  void OnNextToken(const ServedModel& model,
                   absl::Duration since_last) override;
  void OnDeadlineMissed(const ServedModel& model, const char* stage) override;
  void OnRejected(const ServedModel& model, const char* reason) override;
  void OnRunning(int worker, const ServedModel& model, int requests) override;
  void OnBlocks(int worker, const ServedModel& model, int used,
                int total) override;
  void OnCacheLookup(const ServedModel& model, bool hit) override;
  void OnCacheSize(int64_t bytes, int64_t results) override;

  // Sets the bytes that are held for clients now.
  void OnHeldBytes(Held kind, int64_t bytes);
  // Sets the memory that counts against the limit, and the stage of the
  // measures against overload (OverloadManager::Stage).
  void OnMemory(int64_t bytes, int64_t limit, int stage);
  // `action`: "paused" (a message or stream is read later), "refused" (a
  // request), "shed" (a running call was ended).
  void OnOverload(const char* action);
  // Sets the number of open connections of clients.
  void OnConnections(int64_t open);
  // The server ended a connection. `reason`: "evicted" (idle or slow, to make
  // room), "refused" (no room), "abuse" (of HTTP/2), "handshake" (the TLS
  // handshake failed), "old" (--max-connection-age).
  void OnConnectionEnded(const char* reason);

  // `result`: "sent" (to the collector of traces) or "dropped".
  void OnTraceSpans(const char* result, int64_t spans);

  // Totals of a model so far; all 0 if it was not added.
  struct ModelTotals {
    CallFigures::Total succeeded, failed;  // calls
    CallFigures::Total queued;             // waits of started requests
    CallFigures::Total iterations;
    int64_t texts = 0;  // answered texts
  };
  ModelTotals TotalsOf(const ServedModel& model);

  // Sums over all models for load reports: totals so far, and present values.
  struct Load {
    double calls = 0, errors = 0;  // so far; errors are those of the server
    // Started requests so far, and the sum of their waits.
    double started = 0, queue_seconds = 0;
    double waiting = 0;                   // requests now
    double blocks_used = 0, blocks = 0;   // KV blocks now
    double memory = 0, memory_limit = 0;  // bytes now
  };
  Load LoadNow();

  // All metrics in Prometheus' text format.
  std::string Text() const;

 private:
  // The figures of a model, or null if it was not added.
  ModelFigures* Find(const ServedModel& model)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int workers_;
  const std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Gauge* const cache_bytes_;
  prometheus::Gauge* const cache_results_;
  std::array<prometheus::Gauge*, kHeldKinds> held_;
  prometheus::Gauge* const memory_;
  prometheus::Gauge* const memory_limit_;
  prometheus::Family<prometheus::Gauge>* const limits_;
  prometheus::Gauge* const overload_stage_;
  prometheus::Family<prometheus::Counter>* const overload_actions_;
  prometheus::Gauge* const connections_;
  prometheus::Family<prometheus::Counter>* const connections_ended_;
  prometheus::Family<prometheus::Counter>* const trace_spans_;
  std::array<prometheus::Gauge*, kRpcs> in_flight_;
  const ProcessFigures process_figures_;

  // Held while an event is counted, so that its series is not removed
  // meanwhile.
  Mutex mutex_;
  absl::flat_hash_map<const ServedModel*, std::shared_ptr<ModelFigures>> models_
      ABSL_GUARDED_BY(mutex_);
  CallFigures unknown_model_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_METRICS_H_
