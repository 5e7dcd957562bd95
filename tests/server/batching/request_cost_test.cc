#include "server/batching/request_cost.h"

#include "tests/server/batching/harness.h"

namespace trivium {
namespace {

TEST(RequestCostTest, CountsTheCostOfTheWorstCase) {
  const EngineLimits limits = PuppetEngine::Options().limits;
  Request request = MakeRequest(Source(10), Beams(4, 8), nullptr);
  request.prefix = {kStart, 5, 6};
  const RequestCost cost = CostOf(request, limits);
  EXPECT_EQ(cost.tokens, 10 + 2 + 4 * 8);
  EXPECT_EQ(cost.rows, 4);
  EXPECT_EQ(cost.source_blocks, 3);
  EXPECT_EQ(cost.hypothesis_blocks, 3);  // 3 + 8 - 1 = 10 positions of 4
  EXPECT_EQ(
      CostOf(MakeRequest(Source(10), Samples(3, 8, 1), nullptr), limits).rows,
      3);
  const RequestCost encode =
      CostOf(MakeRequest(Source(10), std::nullopt, nullptr), limits);
  EXPECT_EQ(encode.tokens, 10);
  EXPECT_EQ(encode.rows, 0);
  EXPECT_EQ(encode.source_blocks + encode.decoder_blocks(), 0);
}

}  // namespace
}  // namespace trivium
