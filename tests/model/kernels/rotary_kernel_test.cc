#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "model/kernels/rotary.h"

namespace trivium {
namespace {

// Every tail of the widest vectors, and heads that are turned in whole or in
// part, compared with plain loops in double precision.
TEST(RotaryTest, TurnsPairsByTheirAngles) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0, 3);
  for (int pairs = 1; pairs <= 130; ++pairs) {
    for (const int rest : {0, 1, 24}) {
      const int heads = 1 + pairs % 3;
      const int size = 2 * pairs + rest;
      std::vector<float> turn(2 * pairs), x(heads * size + 1);
      for (int i = 0; i < pairs; ++i) {
        const float angle = 100 * normal(generator);
        turn[i] = 1.3f * std::cos(angle);
        turn[pairs + i] = 1.3f * std::sin(angle);
      }
      for (float& value : x) value = normal(generator);
      const std::vector<float> before = x;
      ApplyRotary(turn.data(), pairs, heads, size, x.data());
      EXPECT_EQ(x.back(), before.back()) << "wrote beyond " << pairs;
      for (int at = 0; at < heads * size; at += size) {
        for (int i = 0; i < pairs; ++i) {
          const double a = before[at + i], b = before[at + pairs + i];
          const double c = turn[i], s = turn[pairs + i];
          // Two products and a sum, each rounded once.
          const double error = 2e-7 * (std::fabs(a) + std::fabs(b)) * 1.3;
          ASSERT_NEAR(x[at + i], a * c - b * s, error) << pairs << " " << i;
          ASSERT_NEAR(x[at + pairs + i], b * c + a * s, error) << pairs;
        }
        for (int i = 2 * pairs; i < size; ++i) {
          ASSERT_EQ(x[at + i], before[at + i]) << pairs << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace trivium
