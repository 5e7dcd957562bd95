#ifndef TRIVIUM_MODEL_GRAMMAR_TOKEN_TRIE_H_
#define TRIVIUM_MODEL_GRAMMAR_TOKEN_TRIE_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trivium {

// A set of tokens, one bit each.
class TokenMask {
 public:
  explicit TokenMask(size_t tokens) : words_((tokens + 63) / 64, 0) {}

  void Set(int32_t token) {
    words_[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64);
  }
  void Reset(int32_t token) {
    words_[static_cast<size_t>(token) / 64] &= ~(uint64_t{1} << (token % 64));
  }
  bool Has(int32_t token) const {
    return (words_[static_cast<size_t>(token) / 64] >> (token % 64) & 1) != 0;
  }
  bool Empty() const;
  size_t Count() const;
  // The sets have the same size.
  void Add(const TokenMask& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  // [ceil(tokens / 64)] bit i of word w is token 64 w + i.
  std::span<const uint64_t> words() const { return words_; }

 private:
  std::vector<uint64_t> words_;
};

// Tokens by their bytes: a trie in one list, a parent before its children, so
// that a walk goes forward and skips what it does not want. Immutable.
class TokenNodes {
 public:
  struct Node {
    uint32_t next;         // the first node that is not below this one
    uint32_t first_token;  // index in tokens_
    uint16_t depth;        // number of bytes; 1 for a child of the root
    uint8_t byte;
  };

  TokenNodes() : TokenNodes({}, {}) {}
  // `ids` are in the order of their bytes, texts[id].
  TokenNodes(std::vector<int32_t> ids, std::span<const std::string> texts);

  // Without the root, and with a last one that only ends the lists.
  std::span<const Node> nodes() const { return nodes_; }
  size_t size() const { return nodes_.size() - 1; }
  // True if some token begins with `text` and then one of the bytes.
  bool AnyGoesOn(std::string_view text, const std::bitset<256>& bytes) const;
  // The tokens that end at node i.
  std::span<const int32_t> TokensAt(size_t node) const {
    return std::span(tokens_).subspan(
        nodes_[node].first_token,
        nodes_[node + 1].first_token - nodes_[node].first_token);
  }

 private:
  std::vector<int32_t> tokens_;
  std::vector<Node> nodes_;
};

// A vocabulary. Immutable.
//
// Most tokens are plain: whole characters that stand in a JSON string as they
// are, so without quotation marks, backslashes and control characters. Inside
// of a string they need not be tried one by one.
class TokenTrie {
 public:
  // `tokens[i]` are the bytes that token i adds to a text, which may be a part
  // of a character. A token without bytes is never written under a constraint;
  // nor is one of more than kMaxTokenBytes. `end_ids` end a text; their bytes
  // do not matter.
  TokenTrie(std::vector<std::string> tokens, std::vector<int32_t> end_ids);

  static constexpr size_t kMaxTokenBytes = 1024;

  const TokenNodes& all() const { return all_; }
  const TokenNodes& not_plain() const { return not_plain_; }
  // Sets the plain tokens of at most so many characters.
  void AddPlain(uint32_t most_characters, TokenMask* mask) const;

  // The tokens that may end an item of an array and go on: those with a comma
  // and something before it, or the beginning of a scalar behind it.
  std::span<const int32_t> across_items() const { return across_items_; }

  size_t tokens() const { return tokens_.size(); }
  const std::string& bytes(int32_t token) const { return tokens_[token]; }
  std::span<const int32_t> end_ids() const { return end_ids_; }
  bool IsEnd(int32_t token) const;
  // The length of the longest token.
  uint32_t longest() const { return longest_; }

 private:
  std::vector<std::string> tokens_;
  std::vector<int32_t> end_ids_;
  TokenNodes all_, not_plain_;
  TokenMask plain_;
  std::vector<int32_t> across_items_;
  std::vector<int32_t> by_length_;     // plain tokens, short ones first
  std::vector<uint32_t> length_ends_;  // [c]: where those of c characters end
  uint32_t longest_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_TOKEN_TRIE_H_
