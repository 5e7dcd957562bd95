#ifndef TRIVIUM_MODEL_SEARCH_SEARCH_CONSTRAINT_H_
#define TRIVIUM_MODEL_SEARCH_SEARCH_CONSTRAINT_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "model/grammar/constraint.h"
#include "model/search/decoding.h"
#include "model/search/thought_bound.h"

namespace trivium {

// Follows the hypotheses of one search through its constraint, if it has one.
// Each hypothesis keeps a state, which is copied when it forks.
//
//   SearchConstraint constraint(options);
//   SearchConstraint::State state = constraint.Start();
//   ScoreLogits(row, edits, count, &tokens, constraint.Allowed(state));
//   if (!constraint.Advance(token, new_tokens, &state)) give up;
//
// A state depends only on the tokens of its hypothesis, so neither guesses nor
// other hypotheses change what it allows.
class SearchConstraint {
 public:
  struct State {
    ConstraintMatcher::State text;
    ThoughtBound::State thought;  // with a bound of thoughts
  };

  explicit SearchConstraint(const DecodingOptions& options);

  bool exists() const { return matcher_.has_value(); }
  State Start() const;
  // Returns the tokens that may follow; null without a constraint. Valid until
  // the next call.
  const TokenMask* Allowed(State state);
  // Moves the state past a chosen token, the text's new token number
  // `new_tokens`. False if the token may not stand there, which only forced
  // tokens can do. Forced tokens without text, such as a language's, may stand
  // anywhere; a forced last token may be an end token anywhere.
  bool Advance(int32_t token, int new_tokens, State* state);

  // Returns why a search without a token to choose is given up.
  absl::Status EmptyMask() const;
  // Not OK once a text needed too much memory.
  absl::Status status() const;

 private:
  std::shared_ptr<const Constraint> constraint_;
  std::optional<int32_t> forced_last_id_;
  int max_new_tokens_;
  std::optional<ConstraintMatcher> matcher_;
  std::shared_ptr<const ThoughtBound> thoughts_;  // null: not bounded
  std::shared_ptr<const TokenMask> allowed_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_SEARCH_CONSTRAINT_H_
