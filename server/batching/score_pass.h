#ifndef TRIVIUM_SERVER_BATCHING_SCORE_PASS_H_
#define TRIVIUM_SERVER_BATCHING_SCORE_PASS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "model/engine.h"
#include "model/search/decoding.h"
#include "model/search/row_scores.h"
#include "server/batching/request.h"

namespace trivium {

// Reads a request's tokens once (teacher forcing) and computes the
// log-probability of each scored token. The pass may be cut into chunks of any
// size. Not thread-safe; call End before destruction.
class ScorePass {
 public:
  // `request` has `scoring` and outlives the pass.
  ScorePass(Engine* engine, SourceId source, const Request& request);

  // Number of tokens before the scored ones that the engine had cached.
  int found() const { return found_; }
  // The last token is never read.
  int tokens_left() const {
    return static_cast<int>(tokens_.size()) - 1 - read_;
  }
  int read() const { return read_; }
  // Adds the next `count` tokens to the plan.
  void Plan(int count, StepPlan* plan);
  // Consumes the engine's answer to the last Plan.
  void Apply(const StepResult::Row& row);
  void End(Engine* engine) { engine->ReleaseHypothesis(hypothesis_); }
  // The hypothesis, to be used further instead of End when no token is left.
  HypothesisId hypothesis() const { return hypothesis_; }

  // Returns the scored tokens; call once, when no token is left.
  Hypothesis Take();

 private:
  const std::span<const int32_t> tokens_;
  const Scoring scoring_;
  HypothesisId hypothesis_;
  int found_ = 0;
  int read_ = 0;
  int planned_ = 0;
  double log_probability_ = 0;
  Hypothesis scored_;
  std::vector<LogitsQuery> queries_;   // of the chunk that is planned
  std::vector<ScoredToken> possible_;  // scratch
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SCORE_PASS_H_
