#ifndef TRIVIUM_SERVER_PLAN_PLAN_H_
#define TRIVIUM_SERVER_PLAN_PLAN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/folder_report.h"
#include "nlohmann/json.hpp"
#include "server/batching/workers.h"
#include "server/options.h"
#include "server/plan/load_measurement.h"

namespace trivium {

// The memory that a server of some options would need on this machine, and the
// rates that it would reach (--plan). Memory follows from shapes and options.
// Scratch memory and rates are measured; if they cannot be measured, the plan
// has none.
struct Plan {
  // One way to use cores for one load.
  struct Rate {
    Workers workers;
    // Unset: there was no time left, or the load took too long.
    std::optional<LoadRate> measured;
  };
  struct LoadPlan {
    Load load;
    std::vector<Rate> rates;  // by cores, then by workers
  };
  struct ModelPlan {
    ModelSpec spec;
    FolderReport folder;
    std::optional<ModelInfo> loaded;
    // Exact if the model was loaded, else from its shapes.
    int64_t weight_bytes = 0;
    // Both are sums over all workers. The KV cache is allocated as needed; an
    // unset scratch was not measured.
    int64_t kv_cache_bytes = 0;
    std::optional<int64_t> scratch_bytes;
    std::vector<LoadPlan> loads;
    std::string not_measured;  // the reason; empty: it was measured
  };

  int cores = 0;                // that the process may use
  int64_t memory_bytes = 0;     // that the process may use
  int64_t available_bytes = 0;  // part of it that is free now
  Workers workers;              // that the options choose
  int64_t max_request_bytes = 0;
  int64_t max_response_bytes = 0;
  std::vector<ModelPlan> models;

  // Weights, KV caches and scratch of all models.
  int64_t total_bytes() const;
};

struct PlanOptions {
  // Time to measure a model. A slow model takes up to twice as long, and then
  // some ways to use the cores are left out.
  absl::Duration time = absl::Seconds(12);
  // Called with each step that begins.
  std::function<void(const std::string&)> report_progress =
      [](const std::string&) {};
};
// Returns the error that serving these options would return.
absl::StatusOr<Plan> MakePlan(const Options& options,
                              const PlanOptions& plan_options);

// Ways to use up to `cores` cores: first `served`, then those that use all
// cores.
std::vector<Workers> WaysToUse(int cores, const Workers& served);

// The plan as text for people, and as JSON for programs.
std::string DescribePlan(const Plan& plan);
nlohmann::json PlanToJson(const Plan& plan);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_PLAN_PLAN_H_
