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

// The phrases that a hypothesis of a beam search has begun. A phrase that is
// begun is written to its end.
struct PhraseState {
  uint32_t begun = 0;  // one bit for each phrase
  // The form that is being written and how many of its tokens are; null: none.
  const std::vector<int32_t>* form = nullptr;
  size_t written = 0;
  // The tokens that may follow a phrase that has just ended.
  enum class After : uint8_t { kAnything, kEndingOrWord, kWord };
  After after = After::kAnything;
  bool endings = false;  // RequiredPhrase::endings of the phrase being written
  // Added to the log-probability when hypotheses are compared; depends on where
  // phrases were begun.
  double bonus = 0;
};

// Makes hypotheses contain DecodingOptions::required, like Post and Vilar's
// "Fast Lexically Constrained Decoding with Dynamic Beam Allocation" (2018):
// hypotheses compete with those that have begun equally many phrases. A phrase
// is placed by its cost there and by whether the decoder attends to its source.
// Cost alone would not do: a model that would never write a word has no idea
// from its probability where the word belongs. Immutable.
class RequiredPhrases {
 public:
  explicit RequiredPhrases(const DecodingOptions& options);

  size_t size() const { return phrases_.size(); }
  // Number of phrases begun.
  size_t Rank(const PhraseState& state) const;
  bool HasAll(const PhraseState& state) const { return Rank(state) == size(); }
  // Returns the fewest tokens that the hypothesis must still write.
  int Needed(const PhraseState& state) const;

  // A token that begins or continues a phrase.
  struct Step {
    int32_t token;
    PhraseState state;  // after this token
  };
  // Returns the possible steps. `first`: nothing is written yet. While a phrase
  // is being written there is one step, and no other token may follow. `looks`,
  // [phrases]: share of the attention on each phrase's source; empty: unknown.
  void Steps(const PhraseState& state, bool first, std::span<const float> looks,
             std::vector<Step>* steps) const;
  // True if any phrase names its source tokens.
  bool attends() const { return attends_; }
  // Returns `looks` for a position; `map` is as in Decoding::SetAttention.
  std::vector<float> LooksOf(std::span<const float> map, int keys) const;
  // Allows: true if a token that is no step may follow while no phrase is being
  // written. With: the state after that token.
  bool Allows(const PhraseState& state, int32_t token) const;
  PhraseState With(const PhraseState& state, int32_t token) const;

  // Makes the engine return the raw logits of the steps' tokens.
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

// Returns how many hypotheses of each rank 0 .. ranks - 1 may run, of `width`
// in all. Every rank but the last gets up to two; the last gets the rest.
// Places that a rank cannot use go to the highest rank that can. `there`: how
// many candidates each rank has.
std::vector<size_t> AllotByRank(const std::vector<size_t>& there, size_t width);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_REQUIRED_PHRASES_H_
