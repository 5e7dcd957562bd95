// A hypothesis has begun a set of phrases (one bit for each) and is writing at
// most one of them, which then has exactly one possible next token. Beginning a
// phrase adds a bonus, never positive, that grows with the decoder's attention
// on the phrase's source; without a source it is 0.
//
// After a whole phrase, tokens that continue its last word are forbidden until
// another token follows; a phrase with endings allows one ending first.
#include "model/search/required_phrases.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace trivium {
namespace {

// Running hypotheses reserved for each number of begun phrases.
constexpr size_t kOfEachRank = 2;
// Beginning a phrase costs so much for each e-fold that less of the decoder's
// attention is on the phrase's source; shares below kLeastLook count as
// kLeastLook, because they say nothing.
constexpr double kWeightOfLook = 8;
constexpr float kLeastLook = 0.01f;

}  // namespace

RequiredPhrases::RequiredPhrases(const DecodingOptions& options)
    : phrases_(options.required), pieces_(options.word_pieces) {
  for (const RequiredPhrase& phrase : phrases_) {
    attends_ |= !phrase.source.empty();
  }
}

size_t RequiredPhrases::Rank(const PhraseState& state) const {
  return static_cast<size_t>(std::popcount(state.begun));
}

int RequiredPhrases::Needed(const PhraseState& state) const {
  size_t needed =
      state.form == nullptr ? 0 : state.form->size() - state.written;
  for (size_t i = 0; i < phrases_.size(); ++i) {
    if ((state.begun >> i & 1) != 0) continue;
    size_t least = std::numeric_limits<size_t>::max();
    for (const std::vector<int32_t>& form : phrases_[i].forms) {
      least = std::min(least, form.size());
    }
    needed += least;
  }
  return static_cast<int>(needed);
}

PhraseState RequiredPhrases::Begin(PhraseState state, size_t phrase,
                                   const std::vector<int32_t>& form,
                                   std::span<const float> looks) const {
  state.begun |= 1u << phrase;
  if (!looks.empty() && !phrases_[phrase].source.empty()) {
    state.bonus +=
        kWeightOfLook * std::log(std::clamp(looks[phrase], kLeastLook, 1.0f));
  }
  state.form = &form;
  state.written = 0;
  state.endings = phrases_[phrase].endings;
  state.after = phrases_[phrase].whole ? PhraseState::After::kWord
                                       : PhraseState::After::kAnything;
  return GoOn(state);
}

PhraseState RequiredPhrases::GoOn(PhraseState state) const {
  if (++state.written < state.form->size()) return state;
  state.form = nullptr;
  if (state.endings && state.after == PhraseState::After::kWord) {
    state.after = PhraseState::After::kEndingOrWord;
  }
  return state;
}

std::vector<float> RequiredPhrases::LooksOf(std::span<const float> map,
                                            int keys) const {
  std::vector<float> looks(phrases_.size());
  const size_t rows = map.size() / keys;
  for (size_t i = 0; i < phrases_.size(); ++i) {
    for (size_t row = 0; row < rows; ++row) {
      for (const int32_t token : phrases_[i].source) {
        if (token < keys) looks[i] += map[row * keys + token];
      }
    }
    looks[i] /= static_cast<float>(rows);
  }
  return looks;
}

void RequiredPhrases::Steps(const PhraseState& state, bool first,
                            std::span<const float> looks,
                            std::vector<Step>* steps) const {
  steps->clear();
  if (state.form != nullptr) {
    steps->push_back({(*state.form)[state.written], GoOn(state)});
    return;
  }
  for (size_t i = 0; i < phrases_.size(); ++i) {
    if ((state.begun >> i & 1) != 0) continue;
    const auto add = [&](const std::vector<std::vector<int32_t>>& forms) {
      for (const std::vector<int32_t>& form : forms) {
        if (Allows(state, form[0])) {
          steps->push_back({form[0], Begin(state, i, form, looks)});
        }
      }
    };
    add(phrases_[i].forms);
    if (first) add(phrases_[i].first_forms);
  }
}

bool RequiredPhrases::Allows(const PhraseState& state, int32_t token) const {
  return state.after == PhraseState::After::kAnything || pieces_ == nullptr ||
         !pieces_->ContinuesWord(token) ||
         (state.after == PhraseState::After::kEndingOrWord &&
          pieces_->IsEnding(token));
}

PhraseState RequiredPhrases::With(const PhraseState& state,
                                  int32_t token) const {
  PhraseState next = state;
  next.after = state.after == PhraseState::After::kEndingOrWord &&
                       pieces_ != nullptr && pieces_->ContinuesWord(token)
                   ? PhraseState::After::kWord
                   : PhraseState::After::kAnything;
  return next;
}

void RequiredPhrases::Watch(const std::vector<Step>& steps,
                            LogitsEdits* edits) {
  for (const Step& step : steps) {
    const auto place = std::lower_bound(edits->watched.begin(),
                                        edits->watched.end(), step.token);
    if (place != edits->watched.end() && *place == step.token) continue;
    edits->changes.insert(
        edits->changes.begin() + (place - edits->watched.begin()),
        LogitsEdits::Change());
    edits->watched.insert(place, step.token);
  }
}

std::vector<size_t> AllotByRank(const std::vector<size_t>& there,
                                size_t width) {
  std::vector<size_t> slots(there.size());
  const size_t last = there.size() - 1;
  const size_t each = std::clamp<size_t>(width / there.size(), 1, kOfEachRank);
  size_t left = width;
  // The last rank's share is reserved before the others get theirs.
  if (there[last] > 0) --left;
  for (size_t rank = last; rank-- > 0;) {
    slots[rank] = std::min({there[rank], each, left});
    left -= slots[rank];
  }
  if (there[last] > 0) ++left;
  for (size_t rank = there.size(); rank-- > 0;) {
    const size_t more = std::min(there[rank] - slots[rank], left);
    slots[rank] += more;
    left -= more;
  }
  return slots;
}

}  // namespace trivium
