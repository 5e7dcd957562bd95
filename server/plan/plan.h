#ifndef TRIVIUM_SERVER_PLAN_H_
#define TRIVIUM_SERVER_PLAN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/folder_report.h"
#include "nlohmann/json.hpp"
#include "server/batching/workers.h"
#include "server/load_measurement.h"
#include "server/options.h"

namespace trivium {

// What a server of some options would take of this machine, and what it would
// give (--plan). Memory follows from shapes and options, but for scratch, which
// is measured, as all rates are; where they cannot be measured there are none.
struct Plan {
  // One way to use cores for one load.
  struct Rate {
    Workers workers;
    // Unset: the load took too long, or there was no time left.
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
    // Exact where the model was loaded.
    int64_t weight_bytes = 0;
    // Of all workers: as much as may be taken, when it is needed.
    int64_t kv_cache_bytes = 0;
    // Of all workers; unset: not measured.
    std::optional<int64_t> scratch_bytes;
    std::vector<LoadPlan> loads;
    std::string not_measured;  // why; empty: it was
  };

  int cores = 0;                // that may be used
  int64_t memory_bytes = 0;     // likewise, all of it
  int64_t available_bytes = 0;  // of it, what nobody uses now
  Workers workers;              // of the options
  int64_t max_request_bytes = 0;
  int64_t max_response_bytes = 0;
  std::vector<ModelPlan> models;

  // Weights, keys and values, and scratch of all models.
  int64_t total_bytes() const;
};

struct PlanOptions {
  // Of each model's measurement; twice that where it is slow, and then some
  // ways to use the cores are left out.
  absl::Duration time = absl::Seconds(12);
  // Hears what is at work.
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};
// The error is one that serving these options would have, too.
absl::StatusOr<Plan> MakePlan(const Options& options,
                              const PlanOptions& plan_options);

// Ways to use up to `cores` cores, those of all cores and `served` first.
std::vector<Workers> WaysToUse(int cores, const Workers& served);

// For people and for programs.
std::string DescribePlan(const Plan& plan);
nlohmann::json PlanToJson(const Plan& plan);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_PLAN_H_
