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
// (speculation.cc says why). Not thread-safe.
//
//   speculation.Draft(&search, price, most);
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

  // Guesses at most `most` tokens after the one that the search reads next,
  // none less probable than `price`. Replaces the last guesses. Returns how
  // many.
  int Draft(double price, int most, Decoding* search);
  void Clear() { tokens_.clear(); }
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
  std::optional<PromptLookup> lookup_;  // unset after GiveUp
  std::vector<int32_t> tokens_;
  std::vector<LogitsQuery> queries_;
  int accepted_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SPECULATION_H_
