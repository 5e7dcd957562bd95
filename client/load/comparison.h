#ifndef TRIVIUM_CLIENT_LOAD_COMPARISON_H_
#define TRIVIUM_CLIENT_LOAD_COMPARISON_H_

#include <string>
#include <vector>

#include "client/load/report.h"

namespace trivium {

// The reports of two servers, measured one right after the other.
struct Round {
  Report first, second;
};

// The first server's figure divided by the second's, in each round, and the
// spread of that ratio.
struct Ratio {
  std::string name;
  std::vector<double> rounds;
  double median = 0, lowest = 0, highest = 0;
};

// Compares rates and latencies. Leaves out figures that a server lacks in some
// round.
std::vector<Ratio> Compare(const std::vector<Round>& rounds);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_COMPARISON_H_
