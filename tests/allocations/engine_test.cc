// The same with the real engine: a whole iteration allocates nothing, within
// a KV block (its tokens 18 to 30 lie in the second block of 16).
#include "model/transformer/transformer.h"
#include "tests/allocations/steady_batch.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

class EngineAllocationsTest : public testing::TestWithParam<Arithmetic> {
 protected:
  std::unique_ptr<Engine> NewEngine() {
    const RandomTransformer random({}, 7);
    auto transformer = Transformer::Create(random.description(), GetParam());
    EXPECT_TRUE(transformer.ok()) << transformer.status();
    return *Transformer::NewEngine(*transformer, 4 << 20);
  }
};

TEST_P(EngineAllocationsTest, Greedy) {
  ExpectNoAllocations(NewEngine(), SteadyRequests(20, 1, 40), 18, 30);
}

TEST_P(EngineAllocationsTest, Beams) {
  ExpectNoAllocations(NewEngine(), SteadyRequests(8, 4, 40), 18, 30);
}

INSTANTIATE_TEST_SUITE_P(Arithmetics, EngineAllocationsTest,
                         testing::Values(Arithmetic::kF32, Arithmetic::kInt8));

}  // namespace
}  // namespace trivium
