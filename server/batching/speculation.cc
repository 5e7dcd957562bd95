// A sequence's guesses. Where one hypothesis is live and no other can be, t is
// the token to be read next, and d[1 .. k] are guesses of what follows. One
// item of the plan reads t, d[1] .. d[k] and asks after each of them. The
// answer after t is that of a step without guesses, as no row depends on those
// after it; the answer after d[i] is that of a later step if the search has
// chosen d[1] .. d[i]. So the search takes the answers in this order as long as
// it chose what was guessed, and what was read of other guesses is taken back:
// it sees the same answers to the same questions, in fewer steps.
#include <algorithm>
#include <span>

#include "server/batching/sequence.h"

namespace trivium {

void Sequence::StartLookup() {
  lookup_.emplace(request_.prefix.size() + ReservedTokens(*request_.decoding));
  lookup_->Update(request_.prefix);
  lookup_->ResetHitRate();
  draft_.tokens.reserve(1 + DraftBudget::kMostTokens);
  draft_.queries.reserve(1 + DraftBudget::kMostTokens);
}

int Sequence::Draft(double price, int most) {
  draft_.Clear();
  if (!lookup_ || phase_ != Phase::kSearch || paused_) return 0;
  const std::span<const int32_t> history = decoding_->LiveTokens(0);
  lookup_->Update(history);
  const size_t match = lookup_->match();
  if (match == 0) return 0;
  // The last new token is never read.
  most = std::min(most, request_.decoding->max_new_tokens - steps_ - 1);
  int guesses = 0;
  // The probability that this guess and those before it are right.
  for (double p = lookup_->hit_rate(); guesses < most && p >= price;
       p *= lookup_->hit_rate()) {
    ++guesses;
  }
  if (guesses == 0) return 0;
  draft_.tokens.assign(1, history.back());
  for (int i = 0; i < guesses; ++i) {
    // What repeats itself goes on behind its end with what was guessed.
    const size_t at = match + i;
    draft_.tokens.push_back(at < history.size()
                                ? history[at]
                                : draft_.tokens[1 + at - history.size()]);
  }
  const std::span<const LogitsQuery> next = decoding_->queries();
  draft_.queries.assign(next.begin(), next.end());
  const std::span<const LogitsQuery> later =
      decoding_->DraftQueries(std::span(draft_.tokens).subspan(1));
  draft_.queries.insert(draft_.queries.end(), later.begin(), later.end());
  return guesses;
}

void Sequence::DropDraft(StepPlan* plan) {
  if (draft_.size() == 0) return;
  StepPlan::Decode& decode = decodes_.Entries(plan)[0];
  decode.tokens = live_.next_token(0);
  decode.queries = decoding_->queries();
  draft_.Clear();
}

void Sequence::SearchDrafted(const StepResult& result) {
  const StepResult::Row& row = decodes_.Rows(result)[0];
  draft_.accepted = 0;
  if (!row.finite) {
    // Perhaps because of a wrong guess alone: without any, once more.
    engine_->Truncate(live_.id(0), read_tokens());
    lookup_.reset();
    return;
  }
  for (int i = 0;; ++i) {
    decoding_->Advance(row.logits.subspan(i, 1));
    ++steps_;
    if (i == draft_.size() || decoding_->done() ||
        decoding_->continuations()[0].token != draft_.tokens[i + 1]) {
      break;
    }
    ++draft_.accepted;
  }
  if (draft_.accepted < draft_.size()) {
    engine_->Truncate(live_.id(0), read_tokens());
  }
  FollowSearch();
}

}  // namespace trivium
