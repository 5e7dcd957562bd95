#ifndef TRIVIUM_CLIENT_LOAD_COMPARISON_H_
#define TRIVIUM_CLIENT_LOAD_COMPARISON_H_

#include <string>
#include <vector>

#include "client/load/report.h"

namespace trivium {

// Two servers' reports, measured one right after the other.
struct Round {
  Report first, second;
};

// The first server's figure over the second's, of each round; and its spread.
struct Ratio {
  std::string name;
  std::vector<double> rounds;
  double median = 0, lowest = 0, highest = 0;
};

// Of rates and latencies: those figures that both servers have in every round.
std::vector<Ratio> Compare(const std::vector<Round>& rounds);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_COMPARISON_H_
