#include "model/search/thought_bound.h"

#include <fmt/format.h>

#include <utility>

namespace trivium {
namespace {

using Place = ThoughtBound::State::Place;

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Returns how many bytes of `mark` a text ends with, after a byte that follows
// its first `matched` bytes.
size_t NextMatch(std::string_view mark, size_t matched, char byte) {
  if (mark[matched] == byte) return matched + 1;
  std::string text(mark.substr(0, matched));
  text.push_back(byte);
  for (size_t size = matched; size > 0; --size) {
    if (text.ends_with(mark.substr(0, size))) return size;
  }
  return 0;
}

// Spells a text with the longest token that fits at each place; empty if that
// does not succeed.
std::vector<int32_t> Spell(std::string_view text, const TokenTrie& trie) {
  std::vector<int32_t> tokens;
  while (!text.empty()) {
    int32_t longest = -1;
    size_t depth = 0;
    const TokenNodes& all = trie.all();
    const auto nodes = all.nodes();
    for (size_t node = 0; node < all.size() && depth < text.size();) {
      if (nodes[node].depth != depth + 1) break;
      if (nodes[node].byte != static_cast<uint8_t>(text[depth])) {
        node = nodes[node].next;
        continue;
      }
      ++depth;
      if (!all.TokensAt(node).empty()) longest = all.TokensAt(node).front();
      ++node;
    }
    if (longest < 0) return {};
    tokens.push_back(longest);
    text.remove_prefix(trie.bytes(longest).size());
  }
  return tokens;
}

}  // namespace

ThoughtBound::ThoughtBound(Options options, std::vector<int32_t> end_tokens)
    : options_(std::move(options)), end_tokens_(std::move(end_tokens)) {}

absl::StatusOr<std::shared_ptr<const ThoughtBound>> ThoughtBound::Create(
    Options options, const TokenTrie& trie) {
  std::vector<int32_t> end_tokens = Spell(options.end, trie);
  if (end_tokens.empty()) {
    return absl::FailedPreconditionError(fmt::format(
        "the vocabulary cannot spell the mark '{}' that ends thoughts",
        options.end));
  }
  return std::shared_ptr<const ThoughtBound>(
      new ThoughtBound(std::move(options), std::move(end_tokens)));
}

ThoughtBound::State ThoughtBound::Start() const {
  State state;
  if (options_.open) {
    state.place = Place::kInside;
  } else if (options_.begin.empty()) {
    state.place = Place::kAfter;
  }
  return state;
}

std::optional<int32_t> ThoughtBound::Forced(const State& state) const {
  if (state.place != Place::kInside || state.tokens < options_.max_tokens) {
    return std::nullopt;
  }
  return end_tokens_[state.forced];
}

void ThoughtBound::Advance(int32_t token, std::string_view bytes,
                           State* state) const {
  const std::optional<int32_t> forced = Forced(*state);
  const bool inside = state->place == Place::kInside;
  for (const char c : bytes) Read(c, state);
  if (!inside) return;
  if (!forced) {
    ++state->tokens;
  } else if (state->place == Place::kInside) {
    // The constraint may have put another token first.
    const size_t next = token == *forced ? state->forced + 1 : 0;
    state->forced = static_cast<uint32_t>(next % end_tokens_.size());
  }
}

void ThoughtBound::Read(char c, State* state) const {
  if (state->place == Place::kAfter) return;
  const bool inside = state->place == Place::kInside;
  const std::string& mark = inside ? options_.end : options_.begin;
  if (!inside && !options_.anywhere) {
    if (state->matched == 0 && IsSpace(c)) return;
    if (mark[state->matched] != c) {
      state->place = Place::kAfter;
      return;
    }
  }
  state->matched = static_cast<uint32_t>(NextMatch(mark, state->matched, c));
  if (state->matched < mark.size()) return;
  state->matched = 0;
  state->forced = 0;
  if (!inside) {
    state->place = Place::kInside;
  } else {
    state->place = options_.begin.empty() ? Place::kAfter : Place::kBefore;
  }
}

}  // namespace trivium
