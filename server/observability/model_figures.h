#ifndef TRIVIUM_SERVER_OBSERVABILITY_MODEL_FIGURES_H_
#define TRIVIUM_SERVER_OBSERVABILITY_MODEL_FIGURES_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "model/model.h"
#include "model/phases.h"
#include "server/batching/request.h"
#include "server/observability/rpc.h"

namespace trivium {

// Metrics of the calls that name one model, or that name no existing model. The
// destructor removes the series from the page. Not thread-safe.
class CallFigures {
 public:
  // `model`: the label; "" for calls that name no existing model.
  CallFigures(std::shared_ptr<prometheus::Registry> registry,
              std::string model);
  ~CallFigures();
  CallFigures(const CallFigures&) = delete;
  CallFigures& operator=(const CallFigures&) = delete;

  void Count(Rpc rpc, absl::StatusCode code, double seconds);

  // Totals over all calls except GetModel.
  struct Total {
    int64_t count = 0;
    double seconds = 0;
  };
  const Total& succeeded() const { return succeeded_; }
  const Total& failed() const { return failed_; }
  // Number of calls that the server could not answer, or not in time.
  double server_errors() const;

 protected:
  // Adds a series to a family; the destructor removes it.
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

  // Series are made when a call, or a status code of it, first occurs:
  // otherwise the page would list hundreds of series that never occurred.
  struct ForRpc {
    prometheus::Histogram* duration = nullptr;
    std::array<prometheus::Counter*, kCodes> requests{};  // by status code
  };

  const std::shared_ptr<prometheus::Registry> registry_;
  const std::string model_;
  std::vector<std::function<void()>> removals_;
  std::array<ForRpc, kRpcs> rpcs_;
  // By status code. Made at the start: otherwise the first error would not show
  // as an increase.
  std::array<prometheus::Counter*, kCodes> errors_{};
  Total succeeded_, failed_;
};

// All metrics of one model; the handles are made once.
struct ModelFigures : CallFigures {
  ModelFigures(std::shared_ptr<prometheus::Registry> registry,
               const std::string& name, const ModelInfo& info, int workers);
  ~ModelFigures();

  // Replaces the information about the model.
  void SetInfo(const std::string& name, const ModelInfo& info);

  // Reasons for which admission refuses calls.
  static constexpr std::array<std::string_view, 5> kRejections = {
      "full", "late", "stalled", "draining", "invalid"};
  void CountRejection(std::string_view reason);

  struct Blocks {
    prometheus::Gauge* used;
    prometheus::Gauge* capacity;
  };
  prometheus::Gauge* queue_tokens;
  prometheus::Gauge* queue_requests;
  std::array<prometheus::Histogram*, kPriorities> queue_wait;
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
  prometheus::Histogram* input_tokens;
  prometheus::Histogram* output_tokens;
  prometheus::Counter* texts;
  prometheus::Counter* truncated_texts;
  std::array<prometheus::Counter*, kRejections.size()> rejections;
  prometheus::Counter* shared_sources;
  prometheus::Counter* suspensions;
  prometheus::Counter* not_finite;
  prometheus::Counter* step_stalls;
  prometheus::Gauge* stalled_steps;
  prometheus::Counter* prefix_hits;
  prometheus::Counter* prefix_tokens_found;
  prometheus::Counter* drafted_tokens;
  prometheus::Counter* accepted_tokens;
  prometheus::Counter* cache_hits;
  prometheus::Counter* cache_misses;
  prometheus::Counter* missed_queued;
  prometheus::Counter* missed_running;
  std::vector<Blocks> blocks;                        // [workers]
  std::vector<prometheus::Gauge*> running_requests;  // [workers]

 private:
  prometheus::Gauge* batch_invariant_;
  prometheus::Gauge* weight_bytes_;
  prometheus::Gauge* info_ = nullptr;  // its labels are the information
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_MODEL_FIGURES_H_
