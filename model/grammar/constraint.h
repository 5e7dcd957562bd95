#ifndef TRIVIUM_MODEL_GRAMMAR_CONSTRAINT_H_
#define TRIVIUM_MODEL_GRAMMAR_CONSTRAINT_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "model/grammar/automaton.h"
#include "model/grammar/parse_states.h"
#include "model/grammar/token_trie.h"
#include "model/grammar/unique_items.h"

namespace trivium {

// The tokens that may follow at a position of a rule, as far as that does not
// depend on what called the rule.
struct PositionMask {
  // Tokens that are read without leaving the rule. Few are a list, many a mask.
  // With `plain`, those plain tokens are read, too, and `exits` are nodes of
  // TokenTrie::not_plain.
  std::vector<int32_t> few;
  std::unique_ptr<TokenMask> many;
  bool plain = false;
  // Nodes of the trie at which the rule may end, without those below others,
  // and all their ancestors, in the trie's order. The tokens below an ending
  // node depend on the caller.
  struct Exit {
    uint32_t node;
    bool ends;
  };
  std::vector<Exit> exits;
  bool exhausted = false;  // the bounds do not suffice to tell

  size_t bytes() const;
};

// Tokens of a text in order.
using ForcedRun = std::vector<int32_t>;

// Returns the tokens that a tokenizer writes for a text which stands within
// another one; none if it cannot tell. Thread-safe.
using Speller = std::function<ForcedRun(std::string_view)>;

// An automaton with a vocabulary: what all requests under one constraint
// share. Thread-safe.
class Constraint {
 public:
  // Bounds of memory.
  struct Limits {
    size_t request_bytes = 64 << 20;   // the states of one request
    size_t position_bytes = 32 << 20;  // remembered PositionMasks
  };

  // `speller` may be empty. It is not called after the last request under the
  // constraint has ended.
  Constraint(Automaton automaton, std::shared_ptr<const TokenTrie> trie,
             const Limits& limits, Speller speller = {});
  Constraint(Automaton automaton, std::shared_ptr<const TokenTrie> trie)
      : Constraint(std::move(automaton), std::move(trie), Limits()) {}

  const Automaton& automaton() const { return automaton_; }
  const TokenTrie& trie() const { return *trie_; }
  const Limits& limits() const { return limits_; }

  // Computes the mask when it is first asked for.
  std::shared_ptr<const PositionMask> MaskAt(Position position) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool spells() const { return speller_ != nullptr; }
  // Returns the speller's tokens for a text, up to the first one that a byte of
  // `after` behind the text might change. Null if there is none, or if their
  // bytes are not those of the text.
  std::shared_ptr<const ForcedRun> Spell(const std::string& text,
                                         const std::bitset<256>& after) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  PositionMask Compute(Position position) const;
  // Leaves the tokens of a text that no byte of `after` behind it can change.
  void KeepSure(std::string_view text, const std::bitset<256>& after,
                ForcedRun* run) const;

  const Automaton automaton_;
  const std::shared_ptr<const TokenTrie> trie_;
  const Limits limits_;
  const Speller speller_;
  mutable Mutex mutex_;
  mutable std::unordered_map<Position, std::shared_ptr<const PositionMask>>
      masks_ ABSL_GUARDED_BY(mutex_);
  mutable size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  mutable std::unordered_map<std::string, std::shared_ptr<const ForcedRun>>
      spelled_ ABSL_GUARDED_BY(mutex_);  // by text and the bytes after it
};

// Follows one request's texts through a constraint. A state is a value: it is
// copied when a beam forks, compared, hashed, and never changes.
//
//   ConstraintMatcher matcher(constraint);
//   ConstraintMatcher::State state = matcher.Start();
//   while (...) {
//     mask = matcher.Mask(state);   // choose a token of it
//     state = matcher.Advance(state, token);
//   }
//
// The same tokens give the same masks, whatever was asked before. Not
// thread-safe: each request has its own.
class ConstraintMatcher {
 public:
  struct State {
    ParseStates::Id id = ParseStates::kDead;
    // The items of an open array whose items must differ.
    UniqueItems::Id items = UniqueItems::kNone;
    bool operator==(const State&) const = default;
  };

  explicit ConstraintMatcher(std::shared_ptr<const Constraint> constraint);

  State Start() const { return start_; }
  // The tokens that may follow: end tokens if the text is complete, and every
  // token after which it can still be completed. It is empty after an end
  // token, if the vocabulary cannot spell what must follow, and if status() is
  // an error. An empty mask never means that all tokens are allowed.
  std::shared_ptr<const TokenMask> Mask(State state);
  // INVALID_ARGUMENT if the mask does not have the token. After an end token
  // nothing may follow.
  absl::StatusOr<State> Advance(State state, int32_t token);
  // Returns the state after some bytes; State{} if they are not possible.
  State Walk(State state, std::string_view bytes);
  // True if the text may end here.
  bool IsComplete(State state) const { return states_.IsComplete(state.id); }
  // Returns the bytes that must come next, at most `most`: text that no model
  // needs to be asked for. Empty if there is a choice, or the text may end.
  std::string Forced(State state, size_t most = 4096);
  // Returns the tokens that the tokenizer writes for the bytes that must come
  // next, as far as no other text could change them: a last token that could
  // be a longer one with what follows is not among them. Null if there are
  // none, or the constraint has no speller.
  std::shared_ptr<const ForcedRun> ForcedTokens(State state);

  // RESOURCE_EXHAUSTED once a text needed more states than a request may have.
  // All masks are empty from then on.
  absl::Status status() const;

 private:
  // Moves a state past some bytes. False if they are not possible.
  bool Read(std::string_view bytes, ParseStates::Id* state,
            UniqueItems::Written* written);
  std::shared_ptr<const TokenMask> Compute(State state);
  // Removes the tokens that would write an item again which must differ.
  void RemoveRepeated(State state, TokenMask* mask);
  // The same for the tokens below the nodes first .. last, from path_ on.
  void RemoveRepeated(uint32_t first, uint32_t last,
                      const UniqueItems::Written& written, TokenMask* mask);
  // Adds the tokens below the exits of a position that the state allows.
  void AddExits(State state, const PositionMask& part, TokenMask* mask);
  // Adds the tokens below the nodes first .. last that go on from path_.
  void AddTokens(const TokenNodes& tokens, uint32_t first, uint32_t last,
                 TokenMask* mask);

  const std::shared_ptr<const Constraint> constraint_;
  ParseStates states_;
  UniqueItems items_;
  State start_;
  bool exhausted_ = false;
  // By the numbers of a state.
  std::unordered_map<uint64_t, std::shared_ptr<const TokenMask>> masks_;
  std::vector<ParseStates::Id> path_;  // [depth + 1] scratch
};

}  // namespace trivium

template <>
struct std::hash<trivium::ConstraintMatcher::State> {
  size_t operator()(const trivium::ConstraintMatcher::State& state) const {
    return std::hash<uint64_t>()(uint64_t{state.items} << 32 | state.id);
  }
};

#endif  // TRIVIUM_MODEL_GRAMMAR_CONSTRAINT_H_
