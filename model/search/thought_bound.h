#ifndef TRIVIUM_MODEL_SEARCH_THOUGHT_BOUND_H_
#define TRIVIUM_MODEL_SEARCH_THOUGHT_BOUND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/grammar/token_trie.h"

namespace trivium {

// Bounds the thoughts that a model writes before it answers: after max_tokens
// of them, the mark that ends a thought must follow.
//
//   State state = bound.Start();
//   if (auto token = bound.Forced(state)) choose it;
//   bound.Advance(token, bytes, &state);
//
// A state depends only on the tokens of its text. Immutable.
class ThoughtBound {
 public:
  struct Options {
    int max_tokens = 0;  // of all thoughts of a text; >= 0
    // The marks around a thought. `end` is not empty. Without `begin` only an
    // open thought counts.
    std::string begin = {}, end = {};
    bool open = false;  // the text begins inside of a thought
    // Thoughts begin at any `begin` of the text. Else only where the text, or
    // what follows a thought, begins with the mark; white space may precede it.
    bool anywhere = false;
  };
  struct State {
    enum class Place : uint8_t { kBefore, kInside, kAfter };
    Place place = Place::kBefore;
    uint32_t matched = 0;  // bytes of the mark that comes next
    uint32_t forced = 0;   // tokens of the forced end mark
    int32_t tokens = 0;    // of thoughts; those of a forced mark do not count
    bool operator==(const State&) const = default;
  };

  // FAILED_PRECONDITION if the vocabulary cannot spell the end mark.
  static absl::StatusOr<std::shared_ptr<const ThoughtBound>> Create(
      Options options, const TokenTrie& trie);

  State Start() const;
  // Returns the token of the end mark that must come next, if one must.
  std::optional<int32_t> Forced(const State& state) const;
  // Moves the state past a token that adds `bytes` to the text.
  void Advance(int32_t token, std::string_view bytes, State* state) const;

 private:
  ThoughtBound(Options options, std::vector<int32_t> end_tokens);
  void Read(char c, State* state) const;

  const Options options_;
  const std::vector<int32_t> end_tokens_;  // spell options_.end
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_THOUGHT_BOUND_H_
