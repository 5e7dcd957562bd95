#include "model/transformer/kv_layout.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "model/kernels/kv_tile.h"

namespace trivium {

KvLayout::KvLayout(std::span<const int> look_back) : group_layers_(0) {
  std::map<int, int> layers;  // number of layers by look_back
  for (const int back : look_back) {
    if (back != kNoKeys) ++layers[back];
  }
  for (const auto& [back, count] : layers) {
    group_layers_ = std::gcd(group_layers_, count);
  }
  // The next unused index, by look_back: group * group_layers_ + place.
  std::map<int, int> next;
  for (const auto& [back, count] : layers) {
    next[back] = groups() * group_layers_;
    windows_.push_back({.look_back = back, .blocks = count / group_layers_});
    look_back_.insert(look_back_.end(), count / group_layers_, back);
  }
  for (const int back : look_back) {
    if (back == kNoKeys) {
      places_.push_back({});
      continue;
    }
    const int at = next[back]++;
    places_.push_back({at / group_layers_, at % group_layers_});
  }
}

int KvLayout::FirstSeen(int group, int length) const {
  return std::max(0, length - look_back_[group]) / kTileTokens;
}

}  // namespace trivium
