#ifndef TRIVIUM_MODEL_SEARCH_REQUIRED_PHRASES_H_
#define TRIVIUM_MODEL_SEARCH_REQUIRED_PHRASES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/search/decoding.h"
#include "model/search/logits_rules.h"

namespace trivium {

// Which phrases a hypothesis of a beam search has begun: once begun, one is
// written to its end.
struct PhraseState {
  uint32_t begun = 0;  // by bit
  // What is being written, and how much of it is there; null: none.
  const std::vector<int32_t>* form = nullptr;
  size_t written = 0;
  // What may follow a phrase that has just ended.
  enum class After : uint8_t { kAnything, kEndingOrWord, kWord };
  After after = After::kAnything;
  bool endings = false;  // of the phrase being written
  // Beside the log-probability, for where phrases were begun: hypotheses are
  // compared by both.
  double bonus = 0;
};

// What DecodingOptions::required asks of hypotheses, in the manner of Post and
// Vilar's "Fast Lexically Constrained Decoding with Dynamic Beam Allocation"
// (2018): hypotheses compete with those that have begun as many phrases. Where
// each is written the model decides, by what it costs there and by whether the
// decoder looks at what it translates: a model that would never say a word does
// not know by its probability where it belongs. Immutable.
class RequiredPhrases {
 public:
  explicit RequiredPhrases(const DecodingOptions& options);

  size_t size() const { return phrases_.size(); }
  // Phrases begun.
  size_t Rank(const PhraseState& state) const;
  bool HasAll(const PhraseState& state) const { return Rank(state) == size(); }
  // Tokens that it has to write still, at least.
  int Needed(const PhraseState& state) const;

  // A token that begins a phrase or goes on with one.
  struct Step {
    int32_t token;
    PhraseState state;  // with it
  };
  // `first`: nothing is written yet. While a phrase is being written there is
  // one step, and no other token may follow. `looks`, [phrases]: how much of
  // the attention is on what they translate; empty: not known.
  void Steps(const PhraseState& state, bool first, std::span<const float> looks,
             std::vector<Step>* steps) const;
  // Whether any phrase says what it translates.
  bool attends() const { return attends_; }
  // `looks` of a position; `map` as Decoding::SetAttention's.
  std::vector<float> LooksOf(std::span<const float> map, int keys) const;
  // Whether a token that is no step may follow, where no phrase is being
  // written, and the state with it.
  bool Allows(const PhraseState& state, int32_t token) const;
  PhraseState With(const PhraseState& state, int32_t token) const;

  // Makes an engine answer with the logits of the steps' tokens, unchanged.
  static void Watch(const std::vector<Step>& steps, LogitsEdits* edits);

 private:
  PhraseState Begin(PhraseState state, size_t phrase,
                    const std::vector<int32_t>& form,
                    std::span<const float> looks) const;
  PhraseState GoOn(PhraseState state) const;

  const std::vector<RequiredPhrase> phrases_;
  const std::shared_ptr<const WordPieces> pieces_;
  bool attends_ = false;
};

// Of each rank 0 .. ranks - 1, how many hypotheses may run, of `width` in all:
// two of each rank but the last, as far as there are so many, the rest of the
// last; what a rank has no use for goes to the highest that has. `there`: what
// there is of each rank.
std::vector<size_t> AllotByRank(const std::vector<size_t>& there, size_t width);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_REQUIRED_PHRASES_H_
