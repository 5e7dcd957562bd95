// Beam search with required phrases. Hypotheses compete only with those that
// have begun as many phrases, so those that have paid for a phrase are not
// compared with those that have not.
#include <algorithm>

#include "model/search/beam_search.h"

namespace trivium {
namespace {

// Log-probability of a phrase's token that the rules or the source's shortlist
// forbid.
constexpr double kUnlikely = -20;

}  // namespace

void BeamSearch::AddPhraseExtensions(size_t i) {
  const Beam& beam = running_[i];
  const PhraseState& state = beam.phrases;
  const auto add = [&](const ScoredToken& token, const PhraseState& with) {
    extensions_.push_back({static_cast<int>(i), token,
                           beam.log_probability + token.logprob,
                           static_cast<int>(states_.size())});
    states_.push_back(with);
  };
  if (edits_[i].forced.has_value()) {
    for (const ScoredToken& token : possible_) add(token, state);
    return;
  }
  const std::span<const float> looks =
      i < phrase_attention_.size()
          ? std::span<const float>(phrase_attention_[i])
          : std::span<const float>();
  phrases_.Steps(state, AtBeginning(), looks, &steps_);
  for (const RequiredPhrases::Step& step : steps_) {
    const auto found = std::find_if(
        possible_.begin(), possible_.end(),
        [&](const ScoredToken& one) { return one.token == step.token; });
    add({step.token, found == possible_.end()
                         ? kUnlikely
                         : std::max(kUnlikely, found->logprob)},
        step.state);
  }
  const int left = options_.max_new_tokens - length_;
  const bool hurries =
      !phrases_.HasAll(state) && left <= phrases_.Needed(state) + 1;
  if (state.form != nullptr || (hurries && !steps_.empty())) return;
  size_t added = 0;
  for (const ScoredToken& token : possible_) {
    if (added == extensions_kept_) break;
    const bool ends = rules_.EndOf(token.token, length_ + 1).has_value();
    // A one-token phrase may be written only as a step, which counts it.
    const bool is_phrase = std::any_of(
        steps_.begin(), steps_.end(), [&](const RequiredPhrases::Step& step) {
          return step.token == token.token && step.state.form == nullptr;
        });
    if (is_phrase || (ends && !phrases_.HasAll(state)) ||
        !phrases_.Allows(state, token.token)) {
      continue;
    }
    add(token, phrases_.With(state, token.token));
    ++added;
  }
}

void BeamSearch::SetAttention(std::span<const std::span<const float>> maps,
                              int keys) {
  phrase_attention_.clear();
  for (const std::span<const float> map : maps) {
    phrase_attention_.push_back(phrases_.LooksOf(map, keys));
  }
}

bool BeamSearch::IsBetterPhrased(const Extension& a, const Extension& b) const {
  const double merit_a = a.log_probability + states_[a.state].bonus;
  const double merit_b = b.log_probability + states_[b.state].bonus;
  if (merit_a != merit_b) return merit_a > merit_b;
  if (IsBetter(a, b) || IsBetter(b, a)) return IsBetter(a, b);
  return a.state < b.state;
}

void BeamSearch::AllotExtensions() {
  const auto rank_of = [&](const Extension& extension) {
    return phrases_.Rank(states_[extension.state]);
  };
  std::sort(extensions_.begin(), extensions_.end(),
            [&](const Extension& a, const Extension& b) {
              const size_t rank_a = rank_of(a), rank_b = rank_of(b);
              if (rank_a != rank_b) return rank_a > rank_b;
              return IsBetterPhrased(a, b);
            });
  const auto goes_on = [&](const Extension& extension) {
    return !rules_.EndOf(extension.token.token, length_ + 1).has_value();
  };
  const size_t last = phrases_.size();
  std::vector<size_t> there(last + 1);
  for (const Extension& extension : extensions_) {
    if (goes_on(extension)) ++there[rank_of(extension)];
  }
  std::vector<size_t> slots = AllotByRank(there, beam_size_);
  // An ending hypothesis must, as in any beam search, be among the best of its
  // rank.
  size_t ends = slots[last];
  if (there[last] == 0) ends = beam_size_;
  size_t kept = 0;
  for (size_t i = 0; i < extensions_.size(); ++i) {
    const Extension extension = extensions_[i];
    const size_t rank = rank_of(extension);
    const bool ending = !goes_on(extension);
    if (ending ? i >= ends : slots[rank] == 0) continue;
    if (!ending) --slots[rank];
    extensions_[kept++] = extension;
  }
  extensions_.resize(kept);
}

}  // namespace trivium
