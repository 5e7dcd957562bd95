#ifndef TRIVIUM_BASE_CLOCK_H_
#define TRIVIUM_BASE_CLOCK_H_

#include "absl/time/time.h"

namespace trivium {

// Where the time comes from; tests give a clock they move by hand.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;

  // The machine's clock; lives as long as the process.
  static const Clock* Real();
};

}  // namespace trivium

#endif  // TRIVIUM_BASE_CLOCK_H_
