#include "server/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/cpu_limits.h"
#include "base/status.h"
#include "model/kernels/runtime.h"
#include "server/model_loading.h"
#include "server/startup.h"

namespace trivium {
namespace {

// Time after which a load's rate no longer becomes more exact; and time that a
// load of a slow model may take with the served workers.
constexpr absl::Duration kEnoughTime = absl::Milliseconds(1500);
constexpr absl::Duration kPatience = absl::Seconds(10);

absl::StatusOr<std::vector<Plan::ModelPlan>> ReadFolders(
    const std::vector<ModelSpec>& specs, const Options& options) {
  std::vector<Plan::ModelPlan> models;
  for (const ModelSpec& spec : specs) {
    Plan::ModelPlan& model = models.emplace_back();
    model.spec = spec;
    model.folder = ReportFolder(spec.folder, LoadOptionsOf(spec, options));
    if (!model.folder.problems.empty()) {
      return absl::InvalidArgumentError(
          fmt::format("model '{}': {}", spec.name,
                      absl::StrJoin(model.folder.problems, "\n")));
    }
    model.weight_bytes = model.folder.weight_bytes;
  }
  return models;
}

// Returns the reason why the models cannot all be loaded at once; empty: none.
std::string WhyNotLoaded(const std::vector<Plan::ModelPlan>& models,
                         int64_t available) {
  int64_t weights = 0;
  for (const Plan::ModelPlan& model : models) {
    if (!model.folder.has_weights) {
      return fmt::format(
          "the weights of '{}' are not there, so there is nothing to measure; "
          "its memory follows from its config.json",
          model.spec.name);
    }
    weights += model.weight_bytes;
  }
  if (weights <= available) return "";
  return fmt::format(
      "weights of about {} do not fit into the {} of free memory, and rates "
      "are either measured here or left out, never estimated",
      RoundedBytes(weights), RoundedBytes(available));
}

// Measures one model after the other, each with all cores.
class RateMeasurer {
 public:
  RateMeasurer(const Options& options, const PlanOptions& plan_options,
               const Workers& served, int cores)
      : options_(options),
        plan_options_(plan_options),
        served_(served),
        ways_(WaysToUse(cores, served)) {}

  absl::Status Measure(const std::shared_ptr<const Model>& model,
                       Plan::ModelPlan* plan) {
    const auto handle = std::make_shared<const ServedModel>(
        ServedModel{.name = plan->spec.name, .model = model});
    for (Load& load : LoadsOf(model->info())) {
      plan->loads.push_back({std::move(load), {}});
    }
    const auto parts = static_cast<int>(ways_.size() * plan->loads.size());
    // Slow loads take longer than `time`, until there is no time left.
    const absl::Duration time =
        std::min(plan_options_.time / parts, kEnoughTime);
    const absl::Time end = absl::Now() + 2 * plan_options_.time;
    int part = 0;
    for (const Workers& way : ways_) {
      for (Plan::LoadPlan& load : plan->loads) {
        plan_options_.report_progress(
            fmt::format("measuring {} ({} of {}): {}, {} x {}", plan->spec.name,
                        ++part, parts, load.load.name, way.count, way.threads));
        Plan::Rate& rate = load.rates.emplace_back();
        rate.workers = way;
        const absl::Duration left =
            std::max(end - absl::Now(),
                     way == served_ ? kPatience : absl::ZeroDuration());
        if (left <= absl::ZeroDuration()) continue;
        LoadMeasurement how;
        how.workers = way;
        how.batching.speculate = options_.speculation;
        how.engine.kv_cache_bytes = way.kv_cache_bytes;
        how.time = time;
        how.most_time = left;
        TRIVIUM_ASSIGN_OR_RETURN(rate.measured,
                                 MeasureLoad(handle, load.load, how));
        if (rate.measured && way == served_) NoteScratch(*rate.measured, plan);
      }
    }
    for (Plan::LoadPlan& load : plan->loads) {
      std::sort(load.rates.begin(), load.rates.end(),
                [](const Plan::Rate& a, const Plan::Rate& b) {
                  return std::tuple(a.workers.count * a.workers.threads,
                                    -a.workers.count) <
                         std::tuple(b.workers.count * b.workers.threads,
                                    -b.workers.count);
                });
    }
    return absl::OkStatus();
  }

 private:
  // Keeps the largest of all loads.
  void NoteScratch(const LoadRate& rate, Plan::ModelPlan* plan) const {
    const int64_t bytes =
        std::max<int64_t>(0, rate.memory_bytes - rate.kv_bytes);
    plan->scratch_bytes = std::max(plan->scratch_bytes.value_or(0), bytes);
  }

  const Options& options_;
  const PlanOptions& plan_options_;
  const Workers served_;
  const std::vector<Workers> ways_;
};

}  // namespace

int64_t Plan::total_bytes() const {
  int64_t bytes = 0;
  for (const ModelPlan& model : models) {
    bytes += model.weight_bytes + model.kv_cache_bytes +
             model.scratch_bytes.value_or(0);
  }
  return bytes;
}

std::vector<Workers> WaysToUse(int cores, const Workers& served) {
  std::vector<Workers> ways = {served};
  const auto add = [&](int workers, int threads) {
    Workers way = served;
    way.count = workers;
    way.threads = threads;
    if (std::find(ways.begin(), ways.end(), way) == ways.end()) {
      ways.push_back(way);
    }
  };
  for (int threads = 1; threads <= cores; threads *= 2) {
    if (cores % threads == 0) add(cores / threads, threads);
  }
  add(1, cores);
  int fewer = 1;
  while (2 * fewer < cores) fewer *= 2;
  for (; fewer >= 1; fewer /= 2) {
    add(fewer, 1);
    add(1, fewer);
  }
  return ways;
}

absl::StatusOr<Plan> MakePlan(const Options& options,
                              const PlanOptions& plan_options) {
  TRIVIUM_RETURN_IF_ERROR(CheckOptions(options));
  if (options.max_isa) TRIVIUM_RETURN_IF_ERROR(CapIsa(*options.max_isa));
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<ModelSpec> specs,
                           ModelsToServe(options));
  Plan plan;
  plan.cores = UsableCores();
  plan.memory_bytes = options.memory_limit_bytes > 0
                          ? options.memory_limit_bytes
                          : UsableMemory();
  plan.available_bytes = std::min(plan.memory_bytes, AvailableMemory());
  plan.max_request_bytes = options.limits.max_request_bytes;
  plan.max_response_bytes = options.limits.max_response_bytes;
  TRIVIUM_ASSIGN_OR_RETURN(plan.models, ReadFolders(specs, options));

  const std::string refusal = WhyNotLoaded(plan.models, plan.available_bytes);
  std::vector<std::shared_ptr<const Model>> models;
  ModelSizes sizes;
  for (Plan::ModelPlan& model : plan.models) {
    if (refusal.empty()) {
      plan_options.report_progress(fmt::format("loading {}", model.spec.name));
      TRIVIUM_ASSIGN_OR_RETURN(models.emplace_back(),
                               LoadModel(model.spec, options));
      model.loaded = models.back()->info();
      model.weight_bytes = model.loaded->weight_bytes;
    }
    model.not_measured = refusal;
    sizes.Add(model.weight_bytes, model.folder.longest_kv_bytes);
  }
  TRIVIUM_ASSIGN_OR_RETURN(plan.workers, WorkersFor(options, sizes));
  for (Plan::ModelPlan& model : plan.models) {
    if (model.folder.kv_bytes_per_token == 0) continue;
    model.kv_cache_bytes = plan.workers.kv_cache_bytes * plan.workers.count;
  }
  RateMeasurer measurer(options, plan_options, plan.workers, plan.cores);
  for (size_t m = 0; m < models.size(); ++m) {
    TRIVIUM_RETURN_IF_ERROR(measurer.Measure(models[m], &plan.models[m]));
  }
  return plan;
}

}  // namespace trivium
