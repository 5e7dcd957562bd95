#ifndef TRIVIUM_MODEL_SEARCH_SEARCH_CONSTRAINT_H_
#define TRIVIUM_MODEL_SEARCH_SEARCH_CONSTRAINT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

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
//
// Where the constraint leaves one text, only the tokens are allowed that the
// tokenizer writes for it, unless an option might forbid one of them. So they
// are known before the model is asked (ForcedTokens).
class SearchConstraint {
 public:
  struct State {
    ConstraintMatcher::State text;
    ThoughtBound::State thought;  // with a bound of thoughts
    // Tokens that must be written, of which `written` have been; null: none.
    std::shared_ptr<const ForcedRun> run;
    size_t written = 0;
  };

  explicit SearchConstraint(const DecodingOptions& options);

  bool exists() const { return matcher_.has_value(); }
  State Start();
  // Returns the tokens that may follow; null without a constraint. Valid until
  // the next call.
  const TokenMask* Allowed(const State& state);
  // Returns the tokens that Allowed will allow one by one, if no bound of
  // thoughts comes between.
  std::span<const int32_t> ForcedTokens(const State& state) const;
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
  const TokenMask* Only(int32_t token);
  // Sets the tokens that must be written from a new state of the text on.
  void BeginRun(State* state);

  std::shared_ptr<const Constraint> constraint_;
  std::optional<int32_t> forced_last_id_;
  int max_new_tokens_;
  std::optional<ConstraintMatcher> matcher_;
  std::shared_ptr<const ThoughtBound> thoughts_;  // null: not bounded
  bool runs_ = false;  // forced text is written in the tokenizer's tokens
  std::shared_ptr<const TokenMask> allowed_;
  std::optional<TokenMask> only_;  // of one token
  int32_t only_token_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_SEARCH_CONSTRAINT_H_
