#include "server/batching/source_table.h"

#include <random>

#include "tests/server/batching/harness.h"

namespace trivium {
namespace {

class SourceTableTest : public testing::Test {
 protected:
  SourceTableTest() : engine_(puppets_.Make()), table_(engine_.get()) {}

  int Acquire(int tokens, bool* shared, int32_t first = 2, bool decode = true) {
    const auto queued = Queued(
        1,
        MakeRequest(Source(tokens, first),
                    decode ? std::optional(Greedy(4)) : std::nullopt, nullptr),
        engine_->limits());
    const int slot = table_.Acquire(*queued, shared);
    EXPECT_TRUE(table_.Open(slot).ok());
    return slot;
  }
  std::vector<int> PlanLayers(int budget, std::vector<int> slots) {
    std::vector<StepPlan::Encode> plan;
    table_.PlanEncode({budget, budget}, &plan);
    std::vector<int> layers;
    for (const int slot : slots) {
      int of_slot = 0;
      for (const auto& encode : plan) {
        if (encode.source == table_.id(slot)) of_slot = encode.layers;
      }
      layers.push_back(of_slot);
    }
    StepPlan step;
    step.encode = plan;
    StepResult result;
    EXPECT_TRUE(engine_->Step(step, &result).ok());
    table_.CommitPlan();
    return layers;
  }

  Puppets puppets_;
  std::unique_ptr<Engine> engine_;
  SourceTable table_;
};

TEST(DecoderSourceTableTest, HasNoEncoderWork) {
  Puppets puppets;
  puppets.options.limits.encoder_layers = 0;
  const std::unique_ptr<Engine> engine = puppets.Make();
  const SourceTable table(engine.get());
  EXPECT_EQ(table.pending_tokens(Priority::kBackground), 0);
}

TEST_F(SourceTableTest, SharesEqualSourcesWhileAnyoneReadsThem) {
  bool shared = true;
  const int a = Acquire(10, &shared);
  EXPECT_FALSE(shared);
  EXPECT_EQ(Acquire(10, &shared), a);
  EXPECT_TRUE(shared);
  const auto equal =
      Queued(1, MakeRequest(Source(10), Greedy(4), nullptr), engine_->limits());
  EXPECT_TRUE(table_.Has(*equal));
  const int b = Acquire(10, &shared, 3);
  EXPECT_FALSE(shared);
  EXPECT_EQ(engine_->free_blocks(), 1024 - 6);
  table_.Release(a);
  EXPECT_EQ(engine_->free_blocks(), 1024 - 6);
  table_.Release(a);
  EXPECT_FALSE(table_.Has(*equal));
  EXPECT_EQ(engine_->free_blocks(), 1024 - 3);
  Acquire(10, &shared);
  EXPECT_FALSE(shared);
  table_.Release(b);
  table_.Release(0);
  EXPECT_EQ(table_.pending_tokens(Priority::kBackground), 0);
}

TEST_F(SourceTableTest, ADecoderCannotReadASourceEncodedWithoutOne) {
  bool shared = true;
  const int encode_only = Acquire(10, &shared, 2, false);
  const int decode = Acquire(10, &shared);
  EXPECT_FALSE(shared);
  EXPECT_EQ(Acquire(10, &shared, 2, false), encode_only);
  table_.Release(encode_only);
  table_.Release(encode_only);
  // A request that only encodes can use a source encoded for a decoder.
  EXPECT_EQ(Acquire(10, &shared, 2, false), decode);
  EXPECT_TRUE(shared);
  table_.Release(decode);
  table_.Release(decode);
}

TEST_F(SourceTableTest, CutsALongSourceByLayers) {
  bool shared;
  const int slot = Acquire(300, &shared);
  // 100 tokens x 6 layers buy two layers of 300 tokens.
  EXPECT_EQ(PlanLayers(100, {slot}), (std::vector<int>{2}));
  EXPECT_EQ(table_.pending_tokens(Priority::kBackground), 200);
  EXPECT_EQ(PlanLayers(100, {slot}), (std::vector<int>{2}));
  EXPECT_FALSE(table_.ready(slot));
  EXPECT_EQ(PlanLayers(1000, {slot}), (std::vector<int>{2}));
  EXPECT_TRUE(table_.ready(slot));
  table_.Release(slot);
}

TEST_F(SourceTableTest, AlwaysAdvancesTheOldest) {
  bool shared;
  const int slot = Acquire(500, &shared);
  for (int layer = 0; layer < 6; ++layer) {
    EXPECT_EQ(PlanLayers(1, {slot}), (std::vector<int>{1}));
  }
  EXPECT_TRUE(table_.ready(slot));
  table_.Release(slot);
}

TEST_F(SourceTableTest, AShortSourceDoesNotWaitForALongOne) {
  bool shared;
  const int longest = Acquire(480, &shared);
  const int shortest = Acquire(20, &shared);
  // 120 x 6 = 720: a layer of the long source and all of the short one; the
  // rest pays for no further layer.
  EXPECT_EQ(PlanLayers(120, {longest, shortest}), (std::vector<int>{1, 6}));
  EXPECT_TRUE(table_.ready(shortest));
  table_.Release(longest);
  table_.Release(shortest);
}

TEST_F(SourceTableTest, EverySourceGetsItsLayers) {
  bool shared;
  std::mt19937 generator(1);
  const auto random = [&generator](uint32_t below) {
    return static_cast<int>(generator() % below);
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<int> slots;
    for (int i = 0; i < 12; ++i) {
      slots.push_back(Acquire(1 + random(100), &shared, 1000 * i));
    }
    std::vector<int> sums(slots.size());
    for (int i = 0;
         i < 1000 && table_.pending_tokens(Priority::kBackground) > 0; ++i) {
      const std::vector<int> layers = PlanLayers(1 + random(150), slots);
      for (size_t s = 0; s < slots.size(); ++s) sums[s] += layers[s];
    }
    EXPECT_EQ(sums, std::vector<int>(slots.size(), 6));
    for (const int slot : slots) table_.Release(slot);
  }
}

// Short sources keep coming. The budget is 100 x 6 = 600, half of which pays
// for three layers of the long source.
TEST_F(SourceTableTest, ALongSourceIsNotOvertakenForEver) {
  bool shared;
  const int longest = Acquire(100, &shared);
  std::vector<int> slots = {longest};
  for (int i = 0; i < 40; ++i) slots.push_back(Acquire(10, &shared, 1000 + i));
  EXPECT_EQ(PlanLayers(100, {longest}), (std::vector<int>{3}));
  EXPECT_EQ(PlanLayers(100, {longest}), (std::vector<int>{3}));
  EXPECT_TRUE(table_.ready(longest));
  // The short sources got the rest: five an iteration.
  int ready = 0;
  for (const int slot : slots) ready += table_.ready(slot);
  EXPECT_EQ(ready, 1 + 10);
  for (const int slot : slots) table_.Release(slot);
}

}  // namespace
}  // namespace trivium
