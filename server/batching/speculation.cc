// Let t be the token that the only hypothesis reads next, and d[1 .. k] guesses
// of the tokens after it. One item of the plan reads t, d[1] .. d[k] and asks
// for the logits after each of them. No row depends on the rows after it. So
//
// - the answer after t is that of a step without guesses;
// - the answer after d[i] is that of a later step if the search has chosen
//   d[1] .. d[i].
//
// Hence the search consumes the answers in this order as long as it chose the
// guessed tokens, and the caller takes back the tokens of other guesses
// (Engine::Truncate). The search sees the same answers to the same questions as
// without guesses, in fewer steps.
#include "server/batching/speculation.h"

#include <utility>

#include "server/batching/draft_budget.h"

namespace trivium {

Speculation::Speculation(std::span<const int32_t> prompt, size_t most_tokens)
    : lookup_(std::in_place, most_tokens) {
  lookup_->Update(prompt);
  lookup_->ResetHitRate();
  tokens_.reserve(1 + DraftBudget::kMostTokens);
  queries_.reserve(1 + DraftBudget::kMostTokens);
}

int Speculation::Draft(double price, int most, int most_forced,
                       Decoding* search) {
  Clear();
  if (!lookup_) return 0;
  const std::span<const int32_t> forced = search->ForcedTokens();
  if (forced.empty()) {
    Guess(price, most, *search);
  } else if (most_forced > 0) {
    forced_ = true;
    tokens_.assign(1, search->LiveTokens(0).back());
    tokens_.insert(
        tokens_.end(), forced.begin(),
        forced.begin() + std::min<size_t>(forced.size(), most_forced));
  }
  if (size() == 0) return 0;
  const std::span<const LogitsQuery> next = search->queries();
  queries_.assign(next.begin(), next.end());
  const std::span<const LogitsQuery> later =
      search->DraftQueries(std::span(tokens_).subspan(1));
  queries_.insert(queries_.end(), later.begin(), later.end());
  return size();
}

void Speculation::Guess(double price, int most, const Decoding& search) {
  const std::span<const int32_t> history = search.LiveTokens(0);
  lookup_->Update(history);
  const size_t match = lookup_->match();
  if (match == 0) return;
  int guesses = 0;
  // p: the probability that this guess and those before it are right.
  for (double p = lookup_->hit_rate(); guesses < most && p >= price;
       p *= lookup_->hit_rate()) {
    ++guesses;
  }
  if (guesses == 0) return;
  tokens_.assign(1, history.back());
  for (int i = 0; i < guesses; ++i) {
    // A repetition continues beyond the end of the history with the guesses.
    const size_t at = match + i;
    tokens_.push_back(at < history.size() ? history[at]
                                          : tokens_[1 + at - history.size()]);
  }
}

void Speculation::GiveUp() {
  lookup_.reset();
  accepted_ = 0;
}

int Speculation::Apply(std::span<const LogitsRow> logits, Decoding* search) {
  for (accepted_ = 0;; ++accepted_) {
    search->Advance(logits.subspan(accepted_, 1));
    if (accepted_ == size() || search->done() ||
        search->continuations()[0].token != tokens_[accepted_ + 1]) {
      return accepted_ + 1;
    }
  }
}

}  // namespace trivium
