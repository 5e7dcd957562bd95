#include "tests/real_model/predictions.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"

namespace trivium {
namespace {

// log p = logit - log(sum(exp(logit)) of the others + exp(logit)).
Prediction PredictionOf(const LogitsRow& row, int32_t next) {
  const double logit = row.watched[0];
  const double rest = row.rest_log_sum_exp;
  const double most = std::max(logit, rest);
  const double total =
      most + std::log(std::exp(logit - most) + std::exp(rest - most));
  const bool right = row.best.empty() || row.best[0].logit < row.watched[0];
  return {static_cast<float>(logit - total), right ? next : row.best[0].token};
}

absl::Status ReadWindow(Engine* engine, std::span<const int32_t> tokens,
                        std::vector<Prediction>* out) {
  const std::span<const int32_t> next = tokens.subspan(1);
  std::vector<LogitsQuery> queries;
  for (const int32_t& token : next) {
    queries.push_back({.top_k = 1, .watched = {&token, 1}});
  }
  const HypothesisId hypothesis = engine->AddHypothesis(kNoSource);
  StepPlan plan;
  plan.decode.push_back({hypothesis, tokens.first(next.size()), queries});
  StepResult result;
  const absl::Status status = engine->Step(plan, &result);
  if (status.ok()) {
    for (size_t i = 0; i < next.size(); ++i) {
      out->push_back(PredictionOf(result.rows[0].logits[i], next[i]));
    }
  }
  engine->ReleaseHypothesis(hypothesis);
  return status;
}

}  // namespace

absl::StatusOr<std::vector<Prediction>> Predict(Engine* engine,
                                                std::span<const int32_t> tokens,
                                                size_t window) {
  std::vector<Prediction> predictions;
  for (size_t begin = 0; begin + 1 < tokens.size(); begin += window) {
    TRIVIUM_RETURN_IF_ERROR(ReadWindow(
        engine, tokens.subspan(begin, std::min(window, tokens.size() - begin)),
        &predictions));
  }
  return predictions;
}

}  // namespace trivium
