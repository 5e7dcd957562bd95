#include "model/grammar/token_trie.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace trivium {

bool TokenMask::Empty() const {
  return std::all_of(words_.begin(), words_.end(),
                     [](uint64_t word) { return word == 0; });
}

size_t TokenMask::Count() const {
  size_t count = 0;
  for (const uint64_t word : words_) count += std::popcount(word);
  return count;
}

TokenTrie::TokenTrie(std::vector<std::string> tokens,
                     std::vector<int32_t> end_ids)
    : tokens_(std::move(tokens)), end_ids_(std::move(end_ids)) {
  std::erase_if(end_ids_, [&](int32_t id) {
    return id < 0 || static_cast<size_t>(id) >= tokens_.size();
  });
  for (const int32_t id : end_ids_) tokens_[id].clear();
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].size() > kMaxTokenBytes) tokens_[i].clear();
    if (!tokens_[i].empty()) by_bytes_.push_back(static_cast<int32_t>(i));
  }
  std::sort(by_bytes_.begin(), by_bytes_.end(), [&](int32_t a, int32_t b) {
    const int order = tokens_[a].compare(tokens_[b]);
    return order != 0 ? order < 0 : a < b;
  });
  std::vector<uint32_t> path;  // the nodes of the token before
  std::string_view before;
  for (uint32_t i = 0; i < by_bytes_.size(); ++i) {
    const std::string_view text = tokens_[by_bytes_[i]];
    longest_ = std::max(longest_, static_cast<uint32_t>(text.size()));
    const size_t shared =
        std::mismatch(text.begin(), text.end(), before.begin(), before.end())
            .first -
        text.begin();
    for (; path.size() > shared; path.pop_back()) {
      nodes_[path.back()].next = static_cast<uint32_t>(nodes_.size());
    }
    for (size_t at = shared; at < text.size(); ++at) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({0, i, static_cast<uint16_t>(at + 1),
                        static_cast<uint8_t>(text[at])});
    }
    before = text;
  }
  for (const uint32_t node : path) {
    nodes_[node].next = static_cast<uint32_t>(nodes_.size());
  }
  nodes_.push_back({static_cast<uint32_t>(nodes_.size()) + 1,
                    static_cast<uint32_t>(by_bytes_.size()), 0, 0});
}

bool TokenTrie::IsEnd(int32_t token) const {
  return std::find(end_ids_.begin(), end_ids_.end(), token) != end_ids_.end();
}

}  // namespace trivium
