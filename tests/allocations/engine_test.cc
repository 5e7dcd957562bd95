// The same with the real engine: a whole iteration allocates nothing, within
// a KV block (its tokens 18 to 30 lie in the second block of 16).
#include <numeric>

#include "model/transformer/shortlist.h"
#include "model/transformer/transformer.h"
#include "model/transformer/transformer_engine.h"
#include "tests/allocations/steady_batch.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

class EngineAllocationsTest : public testing::TestWithParam<Formats> {
 protected:
  std::unique_ptr<Engine> NewEngine(
      std::shared_ptr<const Shortlist> shortlist = nullptr) {
    const RandomTransformer random({}, 7);
    TransformerDescription description = random.description();
    description.shortlist = std::move(shortlist);
    auto transformer = Transformer::Create(description, GetParam());
    EXPECT_TRUE(transformer.ok()) << transformer.status();
    return *TransformerEngine::Create(*transformer, 4 << 20);
  }
};

TEST_P(EngineAllocationsTest, Greedy) {
  ExpectNoAllocations(NewEngine(), SteadyRequests(20, 1, 40), 18, 30);
}

TEST_P(EngineAllocationsTest, Beams) {
  ExpectNoAllocations(NewEngine(), SteadyRequests(8, 4, 40), 18, 30);
}

TEST_P(EngineAllocationsTest, Shortlists) {
  Shortlist::Table table;
  table.offsets.assign(102, 0);
  table.always.resize(50);
  std::iota(table.always.begin(), table.always.end(), 0);
  const auto shortlist = *Shortlist::Create(table, {}, 101, 101, 101);
  ExpectNoAllocations(NewEngine(shortlist), SteadyRequests(20, 1, 40), 18, 30);
  ExpectNoAllocations(NewEngine(shortlist), SteadyRequests(8, 4, 40), 18, 30);
}

INSTANTIATE_TEST_SUITE_P(Formats, EngineAllocationsTest,
                         testing::Values(kF32Formats, kInt8Formats));

}  // namespace
}  // namespace trivium
