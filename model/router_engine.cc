#include "model/router_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace trivium {

RouterEngine::RouterEngine(std::vector<std::unique_ptr<Engine>> engines)
    : engines_(std::move(engines)), plans_(engines_.size()) {
  for (const auto& engine : engines_) {
    const EngineLimits& one = engine->limits();
    for (int EngineLimits::*const limit :
         {&EngineLimits::encoder_layers, &EngineLimits::max_source_tokens,
          &EngineLimits::type_vocabulary, &EngineLimits::pooled_size,
          &EngineLimits::head_outputs, &EngineLimits::sparse_size}) {
      limits_.*limit = std::max(limits_.*limit, one.*limit);
    }
  }
}

absl::StatusOr<SourceId> RouterEngine::AddSource(const EncoderInput& input,
                                                 const SourceOptions& options) {
  const int routes = static_cast<int>(engines_.size());
  if (input.route < 0 || input.route >= routes) {
    return absl::InvalidArgumentError(
        fmt::format("the source is for route {} of {}", input.route, routes));
  }
  Engine& engine = *engines_[input.route];
  TRIVIUM_ASSIGN_OR_RETURN(const SourceId id, engine.AddSource(input, options));
  const SourceId source = sources_.Add();
  sources_[source] = {.route = input.route,
                      .id = id,
                      .layers_left = engine.limits().encoder_layers};
  return source;
}

void RouterEngine::ReleaseSource(SourceId source) {
  of(source).ReleaseSource(sources_[source].id);
  sources_.Release(source);
}

absl::Status RouterEngine::Step(const StepPlan& plan, StepResult* result) {
  TRIVIUM_RETURN_IF_ERROR(StartStep(plan, result));
  for (StepPlan& one : plans_) one.Clear();
  for (const StepPlan::Encode& work : plan.encode) {
    if (!sources_.valid(work.source)) {
      return absl::InternalError("encode work on an unknown source");
    }
    Source& source = sources_[work.source];
    const int layers = std::min(work.layers, source.layers_left);
    source.layers_left -= layers;
    if (layers > 0) {
      plans_[source.route].encode.push_back({source.id, layers});
    }
  }
  for (size_t route = 0; route < engines_.size(); ++route) {
    if (plans_[route].encode.empty()) continue;
    TRIVIUM_RETURN_IF_ERROR(engines_[route]->Step(plans_[route], &step_));
    result->encoder_rows += step_.encoder_rows;
    result->padding_rows += step_.padding_rows;
    for (double PhaseSeconds::*const phase :
         {&PhaseSeconds::encode, &PhaseSeconds::self_attention,
          &PhaseSeconds::cross_attention, &PhaseSeconds::feed_forward,
          &PhaseSeconds::output_projection, &PhaseSeconds::other}) {
      result->seconds.*phase += step_.seconds.*phase;
    }
  }
  return absl::OkStatus();
}

}  // namespace trivium
