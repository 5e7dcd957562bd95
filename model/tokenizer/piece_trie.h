#ifndef TRIVIUM_MODEL_TOKENIZER_PIECE_TRIE_H_
#define TRIVIUM_MODEL_TOKENIZER_PIECE_TRIE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace trivium {

// Returns the number of nodes of a trie of sorted strings: the root, and one
// for each byte that a string does not share with the string before it.
// `text_of` returns the string_view of an element.
template <typename Sorted, typename TextOf>
size_t CountTrieNodes(const Sorted& sorted, const TextOf& text_of) {
  size_t count = 1;
  std::string_view before;
  for (const auto& element : sorted) {
    const std::string_view text = text_of(element);
    count += text.end() - std::mismatch(text.begin(), text.end(),
                                        before.begin(), before.end())
                              .first;
    before = text;
  }
  return count;
}

// A trie that finds all strings with which a text begins. A node takes twelve
// bytes; its children lie side by side, ordered by their labels.
class PieceTrie {
 public:
  // If a string occurs twice, its largest value counts. Empty strings are left
  // out.
  explicit PieceTrie(std::vector<std::pair<std::string_view, int32_t>> strings);

  // Calls found(length, value) for each string that `text` begins with, from
  // the shortest to the longest.
  template <typename Function>
  void ForEachPrefix(std::string_view text, const Function& found) const;

 private:
  struct Node {
    int32_t value;   // -1: no string ends here
    uint32_t first;  // index of the first child
    uint16_t count;  // number of children
    uint8_t label;
  };

  std::vector<Node> nodes_;  // [0] is the root
};

template <typename Function>
void PieceTrie::ForEachPrefix(std::string_view text,
                              const Function& found) const {
  const Node* node = &nodes_[0];
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t label = static_cast<uint8_t>(text[i]);
    const Node* low = nodes_.data() + node->first;
    size_t count = node->count;
    while (count > 0) {
      const size_t half = count / 2;
      if (low[half].label < label) {
        low += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    if (low == nodes_.data() + node->first + node->count ||
        low->label != label) {
      return;
    }
    node = low;
    if (node->value >= 0) found(i + 1, node->value);
  }
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_PIECE_TRIE_H_
