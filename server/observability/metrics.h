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

// Everything the server counts, in one Prometheus registry. A model's handles
// are made when it is added, so that nothing is looked up by name while a
// request waits; what is said of a model that is not there is not counted.
// Thread-safe.
//
//   Metrics metrics(workers);
//   metrics.AddModel(*model);
//   options.observer = &metrics;           // the batcher's figures
//   metrics.OnCallDone(...);               // the calls'
//   metrics.Text();                        // what /metrics answers
class Metrics : public BatchingObserver {
 public:
  explicit Metrics(int workers);

  // Series are labelled with the model's name; models of one name share them.
  void AddModel(const ServedModel& model);
  // Takes its series off the page.
  void RemoveModel(const ServedModel& model);

  void OnCallStarted(Rpc rpc);
  // `model`: null where the call named none that exists.
  void OnCallDone(Rpc rpc, const ServedModel* model, absl::StatusCode code,
                  absl::Duration duration);
  // Of a text that was answered.
  void OnTokens(const ServedModel& model, int64_t source, int64_t generated);
  // A text was cut.
  void OnTruncated(const ServedModel& model);
  // What the server was told to keep to, which stays: `limit` is the flag's
  // name, without dashes in front.
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

  // Bytes that are held for clients now.
  void OnHeldBytes(Held kind, int64_t bytes);
  // The memory that counts against the limit, and how far the server goes to
  // keep within (OverloadManager::Stage).
  void OnMemory(int64_t bytes, int64_t limit, int stage);
  // `action`: "paused" (a message or a stream that is read later), "refused" (a
  // request), "shed" (a call under way).
  void OnOverload(const char* action);
  // Clients' connections that are open now.
  void OnConnections(int64_t open);
  // Ended by the server. `reason`: "evicted" (idle, to make room), "refused"
  // (no room), "abuse" (of HTTP/2), "handshake" (of TLS, which failed), "old"
  // (--max-connection-age).
  void OnConnectionEnded(const char* reason);

  // `result`: "sent" (to the collector of traces) or "dropped".
  void OnTraceSpans(const char* result, int64_t spans);

  // What a model has done so far; of one that is not there, nothing.
  struct ModelTotals {
    CallFigures::Total succeeded, failed;  // calls
    CallFigures::Total queued;             // requests that were started
    CallFigures::Total iterations;
    int64_t texts = 0;  // answered
  };
  ModelTotals TotalsOf(const ServedModel& model);

  // For reports of the server's load: what has come so far of all models, and
  // what there is now.
  struct Load {
    double calls = 0, errors = 0;  // errors that are not the clients'
    double started = 0,
           queue_seconds = 0;             // requests, and their waits together
    double waiting = 0;                   // requests, now
    double blocks_used = 0, blocks = 0;   // of the KV caches, now
    double memory = 0, memory_limit = 0;  // bytes, now
  };
  Load LoadNow();

  // Everything in Prometheus' text format.
  std::string Text() const;

 private:
  // The figures of a model that is there, else null.
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

  // Held while something is counted, so that no series goes meanwhile.
  Mutex mutex_;
  absl::flat_hash_map<const ServedModel*, std::shared_ptr<ModelFigures>> models_
      ABSL_GUARDED_BY(mutex_);
  CallFigures unknown_model_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_METRICS_H_
