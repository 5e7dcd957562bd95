#ifndef TRIVIUM_SERVER_OBSERVABILITY_MODEL_FIGURES_H_
#define TRIVIUM_SERVER_OBSERVABILITY_MODEL_FIGURES_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "model/model.h"
#include "model/phases.h"
#include "server/observability/rpc.h"

namespace trivium {

// What is counted of the calls that name one model, or none that exists. Its
// series leave the page with it. Not thread-safe.
class CallFigures {
 public:
  // `model`: the label; "" for calls that name no model that exists.
  CallFigures(std::shared_ptr<prometheus::Registry> registry,
              std::string model);
  ~CallFigures();
  CallFigures(const CallFigures&) = delete;
  CallFigures& operator=(const CallFigures&) = delete;

  void Count(Rpc rpc, absl::StatusCode code, double seconds);
  // A lookup by name: not for what happens often.
  void CountRejection(const std::string& reason);

 protected:
  // Adds a series to a family, to be removed with this object.
  template <typename Metric, typename... Arguments>
  Metric* Add(prometheus::Family<Metric>& family,
              const prometheus::Labels& labels, Arguments&&... arguments) {
    Metric* metric = &family.Add(labels, std::forward<Arguments>(arguments)...);
    removals_.push_back([&family, metric] { family.Remove(metric); });
    return metric;
  }
  prometheus::Registry& registry() { return *registry_; }

 private:
  static constexpr int kCodes = 17;

  struct ForRpc {
    prometheus::Histogram* duration = nullptr;
    // By status code; made when a code first occurs, so that the page does
    // not list codes that never did.
    std::array<prometheus::Counter*, kCodes> requests{};
  };

  const std::shared_ptr<prometheus::Registry> registry_;
  const std::string model_;
  std::vector<std::function<void()>> removals_;
  std::array<ForRpc, kRpcs> rpcs_;
  std::vector<std::pair<std::string, prometheus::Counter*>> rejections_;
};

// All that is counted of one model: handles made once.
struct ModelFigures : CallFigures {
  ModelFigures(std::shared_ptr<prometheus::Registry> registry,
               const std::string& name, const ModelInfo& info, int workers);

  struct Blocks {
    prometheus::Gauge* used;
    prometheus::Gauge* capacity;
  };
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
  std::array<prometheus::Counter*, std::size(kPhases)> phases;
  prometheus::Counter* search;
  prometheus::Counter* source_tokens;
  prometheus::Counter* generated_tokens;
  prometheus::Counter* shared_sources;
  prometheus::Counter* suspensions;
  prometheus::Counter* prefix_tokens_found;
  prometheus::Counter* cache_hits;
  prometheus::Counter* cache_misses;
  prometheus::Counter* missed_queued;
  prometheus::Counter* missed_running;
  std::vector<Blocks> blocks;  // [workers]

 private:
  void AddInfo(const std::string& name, const ModelInfo& info);
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_MODEL_FIGURES_H_
