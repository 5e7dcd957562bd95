#include "model/search/counter_rng.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

// Known answers from the Random123 library.
TEST(CounterRngTest, IsPhilox4x32With10Rounds) {
  EXPECT_THAT(Philox4x32({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                         {0xffffffff, 0xffffffff}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                         {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(CounterRngTest, DependsOnEveryPartOfTheKey) {
  std::set<double> seen;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40}) {
    for (const uint32_t sample : {0u, 1u}) {
      for (uint32_t position = 0; position < 100; ++position) {
        const double uniform = UniformAt(seed, sample, position);
        EXPECT_GE(uniform, 0);
        EXPECT_LT(uniform, 1);
        EXPECT_TRUE(seen.insert(uniform).second);
      }
    }
  }
}

}  // namespace
}  // namespace trivium
