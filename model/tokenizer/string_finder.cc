#include <deque>

#include "model/tokenizer/added_tokens.h"

namespace trivium {
namespace {

uint64_t EdgeOf(int32_t node, uint8_t byte) {
  return (static_cast<uint64_t>(node) << 8) | byte;
}

}  // namespace

StringFinder::StringFinder(
    const std::vector<std::pair<std::string, int32_t>>& strings)
    : nodes_(1) {
  std::vector<std::vector<uint8_t>> labels(
      1);  // [nodes] labels of the children
  for (const auto& [string, value] : strings) {
    if (string.empty()) continue;
    int32_t node = 0;
    for (const char c : string) {
      const uint8_t byte = static_cast<uint8_t>(c);
      const auto [edge, is_new] = children_.try_emplace(
          EdgeOf(node, byte), static_cast<int32_t>(nodes_.size()));
      if (is_new) {
        Node child;
        child.length = nodes_[node].length + 1;
        nodes_.push_back(child);
        labels[node].push_back(byte);
        labels.emplace_back();
      }
      node = edge->second;
    }
    nodes_[node].value = value;
    starts_[static_cast<uint8_t>(string[0])] = true;
  }
  std::deque<int32_t> queue = {0};
  while (!queue.empty()) {
    const int32_t node = queue.front();
    queue.pop_front();
    Node& here = nodes_[node];
    here.longest = here.value >= 0 ? node : nodes_[here.fail].longest;
    if (node == 0) here.longest = -1;
    for (const uint8_t byte : labels[node]) {
      const int32_t child = Child(node, byte);
      int32_t fail = here.fail;
      int32_t next = -1;
      if (node != 0) {
        while ((next = Child(fail, byte)) < 0 && fail != 0) {
          fail = nodes_[fail].fail;
        }
      }
      nodes_[child].fail = next < 0 ? 0 : next;
      queue.push_back(child);
    }
  }
}

int32_t StringFinder::Child(int32_t node, uint8_t byte) const {
  const auto found = children_.find(EdgeOf(node, byte));
  return found == children_.end() ? -1 : found->second;
}

std::vector<StringFinder::Match> StringFinder::Find(
    std::string_view text, absl::FunctionRef<bool(const Match&)> wanted) const {
  std::vector<Match> matches;
  if (empty()) return matches;
  int32_t node = 0;
  Match best = {0, 0, -1};  // the leftmost match so far, the longest there
  for (size_t at = 0; at <= text.size();) {
    int32_t next = -1;
    if (at < text.size()) {
      const uint8_t byte = static_cast<uint8_t>(text[at]);
      if (node == 0 && best.value < 0 && !starts_[byte]) {
        ++at;
        continue;
      }
      next = Child(node, byte);
      while (next < 0 && node != 0) {
        node = nodes_[node].fail;
        // Whatever is still open begins behind the best match, which is final.
        if (best.value >= 0 && at - nodes_[node].length > best.begin) break;
        next = Child(node, byte);
      }
    }
    const bool settled =
        best.value >= 0 &&
        (next < 0 || at + 1 - nodes_[next].length > best.begin);
    if (settled) {
      matches.push_back(best);
      at = best.end;
      best.value = -1;
      node = 0;
      if (at == text.size()) break;
      continue;
    }
    if (at == text.size()) break;
    node = next < 0 ? 0 : next;
    ++at;
    for (int32_t found = nodes_[node].longest; found >= 0;
         found = nodes_[nodes_[found].fail].longest) {
      const Match match = {static_cast<uint32_t>(at - nodes_[found].length),
                           static_cast<uint32_t>(at), nodes_[found].value};
      if (best.value >= 0 && match.begin > best.begin) break;
      if (wanted(match)) {
        best = match;
        break;
      }
    }
  }
  return matches;
}

}  // namespace trivium
