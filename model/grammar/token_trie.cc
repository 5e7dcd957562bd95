#include "model/grammar/token_trie.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/utf8.h"

namespace trivium {
namespace {

// The number of characters of a plain token; 0 if it is not plain.
uint32_t PlainCharacters(const std::string& text) {
  uint32_t characters = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte == '"' || byte == '\\') return 0;
    if ((byte & 0xC0) != 0x80) ++characters;
  }
  return IsUtf8(text) ? characters : 0;
}

// True if the text has a comma, with anything before it or the beginning of a
// scalar behind it.
bool IsAcrossItems(std::string_view text) {
  constexpr std::string_view kSpace = " \n\r\t";
  for (size_t at = text.find(','); at != text.npos; at = text.find(',', at)) {
    if (text.find_first_not_of(kSpace) < at) return true;
    at = text.find_first_not_of(kSpace, at + 1);
    if (at == text.npos) return false;
    if (std::string_view("\"-0123456789ntf").find(text[at]) != text.npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool TokenMask::Empty() const {
  return std::all_of(words_.begin(), words_.end(),
                     [](uint64_t word) { return word == 0; });
}

size_t TokenMask::Count() const {
  size_t count = 0;
  for (const uint64_t word : words_) count += std::popcount(word);
  return count;
}

TokenNodes::TokenNodes(std::vector<int32_t> ids,
                       std::span<const std::string> texts)
    : tokens_(std::move(ids)) {
  std::vector<uint32_t> path;  // the nodes of the token before
  std::string_view before;
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view text = texts[static_cast<size_t>(tokens_[i])];
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
                    static_cast<uint32_t>(tokens_.size()), 0, 0});
}

bool TokenNodes::AnyGoesOn(std::string_view text,
                           const std::bitset<256>& bytes) const {
  uint32_t first = 0;
  uint32_t last = static_cast<uint32_t>(size());
  for (const char c : text) {
    while (first < last && nodes_[first].byte != static_cast<uint8_t>(c)) {
      first = nodes_[first].next;
    }
    if (first >= last) return false;
    last = nodes_[first].next;
    ++first;
  }
  for (; first < last; first = nodes_[first].next) {
    if (bytes[nodes_[first].byte]) return true;
  }
  return false;
}

TokenTrie::TokenTrie(std::vector<std::string> tokens,
                     std::vector<int32_t> end_ids)
    : tokens_(std::move(tokens)),
      end_ids_(std::move(end_ids)),
      plain_(tokens_.size()) {
  std::erase_if(end_ids_, [&](int32_t id) {
    return id < 0 || static_cast<size_t>(id) >= tokens_.size();
  });
  for (const int32_t id : end_ids_) tokens_[id].clear();
  std::vector<int32_t> ids;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].size() > kMaxTokenBytes) tokens_[i].clear();
    if (tokens_[i].empty()) continue;
    ids.push_back(static_cast<int32_t>(i));
    longest_ = std::max(longest_, static_cast<uint32_t>(tokens_[i].size()));
  }
  std::sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    const int order = tokens_[a].compare(tokens_[b]);
    return order != 0 ? order < 0 : a < b;
  });
  std::vector<int32_t> others;
  std::vector<std::pair<uint32_t, int32_t>> lengths;
  for (const int32_t id : ids) {
    if (IsAcrossItems(tokens_[id])) across_items_.push_back(id);
    if (const uint32_t characters = PlainCharacters(tokens_[id])) {
      plain_.Set(id);
      lengths.push_back({characters, id});
    } else {
      others.push_back(id);
    }
  }
  std::sort(lengths.begin(), lengths.end());
  for (const auto& [characters, id] : lengths) {
    length_ends_.resize(characters + 1,
                        static_cast<uint32_t>(by_length_.size()));
    by_length_.push_back(id);
    length_ends_.back() = static_cast<uint32_t>(by_length_.size());
  }
  all_ = TokenNodes(std::move(ids), tokens_);
  not_plain_ = TokenNodes(std::move(others), tokens_);
}

void TokenTrie::AddPlain(uint32_t most_characters, TokenMask* mask) const {
  if (most_characters + uint64_t{1} >= length_ends_.size()) {
    mask->Add(plain_);
    return;
  }
  const size_t end = length_ends_[most_characters];
  if (end < by_length_.size() / 2) {
    for (size_t i = 0; i < end; ++i) mask->Set(by_length_[i]);
    return;
  }
  TokenMask short_ones = plain_;
  for (size_t i = end; i < by_length_.size(); ++i) {
    short_ones.Reset(by_length_[i]);
  }
  mask->Add(short_ones);
}

bool TokenTrie::IsEnd(int32_t token) const {
  return std::find(end_ids_.begin(), end_ids_.end(), token) != end_ids_.end();
}

}  // namespace trivium
