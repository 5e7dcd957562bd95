#include "model/tokenizer/piece_trie.h"

#include <algorithm>

namespace trivium {

PieceTrie::PieceTrie(
    std::vector<std::pair<std::string_view, int32_t>> strings) {
  std::sort(strings.begin(), strings.end());
  // Ranges of strings whose nodes still need children, with their depth.
  struct Range {
    uint32_t node;
    size_t begin;
    size_t end;
    size_t depth;
  };
  nodes_.reserve(
      CountTrieNodes(strings, [](const auto& entry) { return entry.first; }));
  nodes_.push_back({-1, 1, 0, 0});
  std::vector<Range> level = {{0, 0, strings.size(), 0}};
  while (!level.empty()) {
    std::vector<Range> next;
    for (const Range& range : level) {
      nodes_[range.node].first = static_cast<uint32_t>(nodes_.size());
      size_t at = range.begin;
      // The node's own string comes first; of equal strings the last one
      // counts.
      for (; at < range.end && strings[at].first.size() == range.depth; ++at) {
        if (range.depth > 0) nodes_[range.node].value = strings[at].second;
      }
      while (at < range.end) {
        const char label = strings[at].first[range.depth];
        size_t end = at;
        while (end < range.end && strings[end].first[range.depth] == label) {
          ++end;
        }
        next.push_back(
            {static_cast<uint32_t>(nodes_.size()), at, end, range.depth + 1});
        nodes_.push_back({-1, 0, 0, static_cast<uint8_t>(label)});
        ++nodes_[range.node].count;
        at = end;
      }
    }
    level = std::move(next);
  }
}

}  // namespace trivium
