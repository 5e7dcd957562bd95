#include "model/table_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/status.h"
#include "model/source_checks.h"

namespace trivium {

TableEngine::TableEngine(std::shared_ptr<const EmbeddingTable> table)
    : table_(std::move(table)) {
  limits_.encoder_layers = 1;
  limits_.max_source_tokens = table_->max_tokens;
  if (table_->sparse) limits_.sparse_size = table_->rows;
}

absl::StatusOr<SourceId> TableEngine::AddSource(const EncoderInput& input,
                                                const SourceOptions& options) {
  TRIVIUM_RETURN_IF_ERROR(CheckSource(input, options, limits_));
  if (options.attention) {
    return absl::FailedPreconditionError(
        "the model looks tokens up in a table, without attention");
  }
  for (const int32_t id : input.ids) {
    if (id >= 0 && id < table_->rows) continue;
    return absl::InvalidArgumentError(
        fmt::format("the source has token id {}, but the model's ids are 0 to "
                    "{}",
                    id, table_->rows - 1));
  }
  const SourceId id = sources_.Add();
  sources_[id].input = input;
  sources_[id].options = options;
  return id;
}

absl::Status TableEngine::Step(const StepPlan& plan, StepResult* result) {
  TRIVIUM_RETURN_IF_ERROR(StartStep(plan, result));
  for (const StepPlan::Encode& work : plan.encode) {
    if (!sources_.valid(work.source) || sources_[work.source].ready) {
      return absl::InternalError("encode work on a source that has none left");
    }
    LookUp(&sources_[work.source]);
    result->encoder_rows += sources_[work.source].tokens();
  }
  return absl::OkStatus();
}

void TableEngine::LookUp(SourceState* source) const {
  const auto& [ids, types, route, unattended] = source->input;
  const SourceOptions& options = source->options;
  const auto add = [&](int32_t id, std::vector<float>* out) {
    out->insert(out->end(), Row(id), Row(id) + table_->width);
  };
  if (options.states == States::kAll) {
    for (const int32_t id : ids) add(id, &source->states);
  } else if (options.states != States::kNone) {
    add(options.states == States::kFirst ? ids.front() : ids.back(),
        &source->states);
  }
  for (size_t i = 0; i < options.hidden_layers.size(); ++i) {
    for (const int32_t id : ids) add(id, &source->hidden);
  }
  if (options.sparse) {
    for (const int32_t id : std::set<int32_t>(ids.begin(), ids.end())) {
      const float weight = *Row(id);
      if (weight != 0) source->sparse.push_back({.id = id, .weight = weight});
    }
  }
  source->ready = true;
}

}  // namespace trivium
