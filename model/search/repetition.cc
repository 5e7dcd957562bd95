#include "model/search/repetition.h"

#include <algorithm>

namespace trivium {

bool RepetitionDetector::Add(std::span<const int32_t> tokens) {
  const int32_t last = tokens.back();
  const int longest = std::min(kLongest, static_cast<int>(tokens.size()) - 1);
  bool repeats = false;
  for (int period = 1; period <= longest; ++period) {
    int32_t& equal = equal_[period - 1];
    equal = tokens[tokens.size() - 1 - period] == last ? equal + 1 : 0;
    // The first time has no token before it that it could equal.
    const int length = equal + period;
    repeats |= length >= std::max(kTimes * period, kTokens);
  }
  return repeats;
}

}  // namespace trivium
