#include "client/load/rate_search.h"

#include <cmath>

namespace trivium {

void RateSearch::Add(bool passed) {
  constexpr double kStep = 1.25;
  if (!passed && ++failures_ < options_.tries) return;
  failures_ = 0;
  (passed ? low_ : high_) = rate_;
  if (std::isinf(high_)) {
    rate_ *= kStep;
  } else if (low_ == 0) {
    rate_ /= kStep;
    done_ = rate_ < start_ / 100;
  } else {
    rate_ = std::sqrt(low_ * high_);
    done_ = high_ / low_ <= 1 + options_.tolerance;
  }
}

}  // namespace trivium
