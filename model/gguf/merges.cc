#include "model/gguf/merges.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/utf8.h"

namespace trivium {
namespace {

struct Cut {
  uint32_t left;  // indices of pieces
  uint32_t right;
  uint32_t left_size;  // in characters
  uint32_t right_size;
  double score;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> MergesFromScores(
    std::span<const std::string> pieces, std::span<const double> scores) {
  std::unordered_map<std::string_view, uint32_t> ids;
  ids.reserve(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    ids[pieces[i]] = static_cast<uint32_t>(i);
  }
  std::vector<Cut> cuts;
  std::vector<size_t> borders;  // byte offsets of all characters but the first
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::string_view piece = pieces[i];
    if (ids[piece] != i) continue;  // of equal pieces the last counts
    borders.clear();
    for (size_t at = 1; at < piece.size(); ++at) {
      if (!IsContinuation(piece[at])) borders.push_back(at);
    }
    const size_t first = cuts.size();
    for (size_t j = 0; j < borders.size(); ++j) {
      const auto left = ids.find(piece.substr(0, borders[j]));
      if (left == ids.end()) continue;
      const auto right = ids.find(piece.substr(borders[j]));
      if (right == ids.end()) continue;
      cuts.push_back({left->second, right->second, static_cast<uint32_t>(j + 1),
                      static_cast<uint32_t>(borders.size() - j), scores[i]});
    }
    std::sort(cuts.begin() + static_cast<ptrdiff_t>(first), cuts.end(),
              [](const Cut& a, const Cut& b) {
                return std::pair(a.left, a.right) < std::pair(b.left, b.right);
              });
  }
  std::stable_sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) {
    return std::tuple(a.score, a.left_size, a.right_size) >
           std::tuple(b.score, b.left_size, b.right_size);
  });
  std::vector<std::pair<std::string, std::string>> merges;
  merges.reserve(cuts.size());
  for (const Cut& cut : cuts) {
    merges.emplace_back(pieces[cut.left], pieces[cut.right]);
  }
  return merges;
}

}  // namespace trivium
