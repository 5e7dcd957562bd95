// After tokens 0 .. p, the log-probability of token p + 1 is
//
//   logprob(p + 1) = logit(p + 1) - log(sum(exp(logits)))
//
// in the arithmetic of a search (row_scores.h). So the engine is asked for the
// logits at position p if token p + 1 is scored.
#include "server/batching/score_pass.h"

#include <algorithm>
#include <utility>

namespace trivium {

ScorePass::ScorePass(Engine* engine, SourceId source, const Request& request)
    : tokens_(request.prefix), scoring_(*request.scoring) {
  // The tokens before the scored ones may be cached: the answers of a choice
  // follow one question.
  const auto scored = tokens_.subspan(scoring_.first);
  scored_.ids.assign(scored.begin(), scored.end());
  scored_.logprobs.reserve(scored.size());
  // Last, since nobody releases it if this throws.
  const Engine::Beginning beginning =
      engine->Begin(source, tokens_.first(scoring_.first), request.salt);
  hypothesis_ = beginning.hypothesis;
  found_ = read_ = beginning.found;
}

void ScorePass::Plan(int count, StepPlan* plan) {
  planned_ = count;
  queries_.clear();
  for (int p = std::max(read_, scoring_.first - 1); p < read_ + count; ++p) {
    queries_.push_back(
        {.top_k = scoring_.top_logprobs, .watched = tokens_.subspan(p + 1, 1)});
  }
  plan->decode.push_back({.hypothesis = hypothesis_,
                          .tokens = tokens_.subspan(read_, count),
                          .queries = queries_});
}

void ScorePass::Apply(const StepResult::Row& row) {
  for (size_t i = 0; i < queries_.size(); ++i) {
    const double logprob =
        ScoreGiven(row.logits[i], queries_[i].watched[0],
                   static_cast<size_t>(scoring_.top_logprobs), &possible_);
    log_probability_ += logprob;
    scored_.logprobs.push_back(static_cast<float>(logprob));
    if (scoring_.top_logprobs == 0) continue;
    scored_.top_logprobs.push_back(TopLogprobs(possible_, possible_.size()));
  }
  read_ += planned_;
  planned_ = 0;
}

Hypothesis ScorePass::Take() {
  scored_.log_probability = static_cast<float>(log_probability_);
  scored_.score = scored_.log_probability;
  return std::move(scored_);
}

}  // namespace trivium
