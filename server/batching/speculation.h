#ifndef TRIVIUM_SERVER_BATCHING_SPECULATION_H_
#define TRIVIUM_SERVER_BATCHING_SPECULATION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/engine.h"
#include "model/search/decoding.h"
#include "server/batching/prompt_lookup.h"

namespace trivium {

// Guesses tokens of a search with one hypothesis, so that one step of the
// engine may do several steps of the search, with the same results
// (speculation.cc says why). Tokens that a constraint forces are certain
// guesses. Not thread-safe.
//
//   speculation.Draft(price, most, most_forced, &search);
//   if (speculation.size() > 0) {
//     the plan reads speculation.tokens() and asks speculation.queries();
//     speculation.Apply(row.logits, &search);
//     if (speculation.accepted() < speculation.size()) engine->Truncate(...)
//   }
class Speculation {
 public:
  // `prompt`: the tokens before the answer. `most_tokens`: of prompt and answer
  // together.
  Speculation(std::span<const int32_t> prompt, size_t most_tokens);

  // Guesses the tokens after the one that the search reads next: at most
  // `most_forced` that it must choose; or, where it has a choice, at most
  // `most`, none less probable than `price`. Replaces the last guesses. Returns
  // how many.
  int Draft(double price, int most, int most_forced, Decoding* search);
  void Clear() {
    tokens_.clear();
    forced_ = false;
  }
  // True if the search must choose the last guesses.
  bool forced() const { return forced_; }
  // Makes no more guesses from now on; the last ones stay, as wrong ones.
  void GiveUp();

  // The guesses of the last Draft, and how many of them the search chose.
  int size() const { return std::max(1, static_cast<int>(tokens_.size())) - 1; }
  int accepted() const { return accepted_; }
  // The token that the search reads next, then the guesses: [1 + size()].
  std::span<const int32_t> tokens() const { return tokens_; }
  std::span<const LogitsQuery> queries() const { return queries_; }

  // Advances the search by the answers to queries(), as long as it chooses the
  // guessed tokens, and by the answer after these. Returns how many steps the
  // search has done.
  int Apply(std::span<const LogitsRow> logits, Decoding* search);

 private:
  // Sets tokens_ to the token that the search reads next and the guesses.
  void Guess(double price, int most, const Decoding& search);

  std::optional<PromptLookup> lookup_;  // unset after GiveUp
  std::vector<int32_t> tokens_;
  std::vector<LogitsQuery> queries_;
  int accepted_ = 0;
  bool forced_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SPECULATION_H_
