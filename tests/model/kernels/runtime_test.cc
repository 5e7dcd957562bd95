#include "model/kernels/runtime.h"

#include <limits>
#include <thread>

#include "gtest/gtest.h"

namespace trivium {
namespace {

// Returns half of the smallest normal number, as this thread computes it.
float HalfOfSmallest() {
  volatile float smallest = std::numeric_limits<float>::min();
  return smallest * 0.5f;
}

// Returns twice a denormal number.
float TwiceTiny() {
  volatile float tiny = std::numeric_limits<float>::denorm_min();
  return tiny * 2.0f;
}

TEST(ScopedFlushDenormalsTest, HoldsOnItsThreadAndThoseItStarts) {
  EXPECT_GT(HalfOfSmallest(), 0);
  EXPECT_GT(TwiceTiny(), 0);
  float half = -1, twice = -1;
  {
    const ScopedFlushDenormals zero;
    EXPECT_EQ(HalfOfSmallest(), 0);
    EXPECT_EQ(TwiceTiny(), 0);
    std::thread([&] {
      half = HalfOfSmallest();
      twice = TwiceTiny();
    }).join();
  }
  EXPECT_EQ(half, 0);
  EXPECT_EQ(twice, 0);
  EXPECT_GT(HalfOfSmallest(), 0);
  EXPECT_GT(TwiceTiny(), 0);
}

TEST(ScopedFlushDenormalsTest, Nests) {
  const ScopedFlushDenormals outer;
  { const ScopedFlushDenormals inner; }
  EXPECT_EQ(HalfOfSmallest(), 0);
}

}  // namespace
}  // namespace trivium
