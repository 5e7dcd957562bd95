#ifndef TRIVIUM_SERVER_OBSERVABILITY_METRICS_H_
#define TRIVIUM_SERVER_OBSERVABILITY_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "model/model.h"
#include "server/batching/batcher.h"
#include "server/observability/process_figures.h"

namespace trivium {

// The calls of the API, as metrics and logs name them.
enum class Rpc {
  kEncode,
  kTranslate,
  kTranslateStream,
  kGenerate,
  kTokenize,
  kListModels,
  kGetModel,
  kClassify,
  kRerank,
  kClassifyTokens,
  kFillMask,
  kAnswer,
};
inline constexpr int kRpcs = 12;

// "Encode", "TranslateStream"...
std::string_view RpcName(Rpc rpc);

// Everything the server counts, in one Prometheus registry. Handles are made
// at the start, so that nothing is looked up by name while a request waits.
// Thread-safe.
//
//   Metrics metrics({{"en-de", model->info()}}, workers);
//   options.observer = &metrics;           // the batcher's figures
//   metrics.OnCallDone(...);               // the calls'
//   metrics.Text();                        // what /metrics answers
class Metrics : public BatchingObserver {
 public:
  struct NamedModel {
    std::string name;
    ModelInfo info;
  };

  // `models` in the order of Batcher::Create's.
  Metrics(const std::vector<NamedModel>& models, int workers);

  // `model` is an index of the constructor's models, or -1 where a call named
  // none that exists.
  void OnCallStarted(Rpc rpc);
  void OnCallDone(Rpc rpc, int model, absl::StatusCode code,
                  absl::Duration duration);
  void OnTokens(int model, int64_t source, int64_t generated);

  void OnIteration(const Iteration& iteration) override;
  void OnSearch(int model, absl::Duration duration) override;
  void OnQueued(int model, int64_t waiting_tokens,
                int64_t waiting_requests) override;
  void OnStarted(int model, absl::Duration queue_wait) override;
  void OnSharedSource(int model) override;
  void OnFirstToken(int model, absl::Duration since_submit) override;
  void OnNextToken(int model, absl::Duration since_last) override;
  void OnDeadlineMissed(int model, const char* stage) override;
  void OnRejected(int model, const char* reason) override;
  void OnBlocks(int worker, int model, int used, int total) override;
  void OnCacheLookup(int model, bool hit) override;
  void OnCacheSize(int64_t bytes, int64_t results) override;

  // Everything in Prometheus' text format.
  std::string Text() const;

 private:
  static constexpr int kCodes = 17;

  struct ForRpc {
    prometheus::Histogram* duration;
    // By status code; made when a code first occurs, so that the page does
    // not list codes that never did.
    std::array<std::atomic<prometheus::Counter*>, kCodes> requests{};
  };
  struct Blocks {
    prometheus::Gauge* used;
    prometheus::Gauge* capacity;
  };
  struct ForModel {
    std::string name;
    std::array<ForRpc, kRpcs> rpcs;
    prometheus::Gauge* queue_tokens;
    prometheus::Gauge* queue_requests;
    prometheus::Histogram* queue_wait;
    prometheus::Histogram* first_token;
    prometheus::Histogram* between_tokens;
    prometheus::Histogram* iteration_duration;
    prometheus::Histogram* encode_rows;
    prometheus::Histogram* decode_rows;
    prometheus::Histogram* iteration_requests;
    prometheus::Counter* padding_rows;
    std::array<prometheus::Counter*, 6> phases;  // PhaseSeconds
    prometheus::Counter* search;
    prometheus::Counter* source_tokens;
    prometheus::Counter* generated_tokens;
    prometheus::Counter* shared_sources;
    prometheus::Counter* cache_hits;
    prometheus::Counter* cache_misses;
    prometheus::Counter* missed_queued;
    prometheus::Counter* missed_running;
    std::vector<Blocks> blocks;  // [workers]
  };

  std::unique_ptr<ForModel> MakeModel(const std::string& name, int workers);
  void AddInfo(const NamedModel& model);
  void AddBuildInfo();
  ForModel& At(int model) { return *models_[model]; }

  std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Family<prometheus::Counter>* requests_;
  prometheus::Family<prometheus::Counter>* rejections_;
  prometheus::Gauge* cache_bytes_;
  prometheus::Gauge* cache_results_;
  std::array<prometheus::Gauge*, kRpcs> in_flight_;
  std::vector<std::unique_ptr<ForModel>> models_;
  std::unique_ptr<ForModel> unknown_model_;
  ProcessFigures process_figures_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_METRICS_H_
