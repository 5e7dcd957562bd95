#include "server/batching/rereading.h"

#include <algorithm>
#include <random>

#include "tests/server/batching/harness.h"

namespace trivium {
namespace {

class RereadingTest : public testing::Test {
 protected:
  RereadingTest() {
    puppets_.options.limits.encoder_layers = 0;
    engine_ = puppets_.Make();
  }
  ~RereadingTest() override {
    engine_.reset();
    puppets_.ExpectCleanUse();
  }

  // Reads everything in chunks; returns the number of tokens read.
  int Read(Rereading* rereading, int spare) {
    int read = 0;
    StepResult result;
    while (!rereading->done()) {
      StepPlan plan;
      int spare_rows = spare;
      rereading->Plan(&spare_rows, &plan);
      EXPECT_EQ(static_cast<int>(plan.decode.size()), rereading->MinRows());
      for (const auto& work : plan.decode) {
        EXPECT_TRUE(work.queries.empty());
        read += static_cast<int>(work.tokens.size());
      }
      EXPECT_TRUE(engine_->Step(plan, &result).ok());
      rereading->Apply(engine_.get());
    }
    return read;
  }
  // Returns a hypothesis's answer after one more token.
  Candidate Next(HypothesisId hypothesis) {
    const int32_t token = 7;
    const LogitsQuery query = {.top_k = 1};
    StepPlan plan;
    plan.decode.push_back({hypothesis, {&token, 1}, {&query, 1}});
    StepResult result;
    EXPECT_TRUE(engine_->Step(plan, &result).ok());
    return result.rows[0].logits[0].best[0];
  }

  Puppets puppets_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(RereadingTest, ReadsACommonBeginningOnce) {
  Rereading rereading;
  const Rereading::Histories histories = {
      {1, 2, 3, 4, 5, 6}, {1, 2, 3, 9, 5, 6}, {1, 2, 3, 4, 5, 8}};
  EXPECT_EQ(rereading.Begin(engine_.get(), kNoSource, histories, ""), 0);
  EXPECT_EQ(Read(&rereading, 100), 3 + 2 + 1 + 1 + 3);
  std::vector<HypothesisId> ids = rereading.Finish(engine_.get());
  for (size_t i = 0; i < ids.size(); ++i) {
    const HypothesisId alone = engine_->AddHypothesis(kNoSource);
    StepPlan plan;
    plan.decode.push_back({alone, histories[i]});
    StepResult result;
    ASSERT_TRUE(engine_->Step(plan, &result).ok());
    EXPECT_EQ(Next(ids[i]).logit, Next(alone).logit);
    engine_->ReleaseHypothesis(alone);
    engine_->ReleaseHypothesis(ids[i]);
  }
}

TEST_F(RereadingTest, EqualHistoriesForkAtTheirEnd) {
  Rereading rereading;
  rereading.Begin(engine_.get(), kNoSource, {{1, 2, 3}, {1, 2, 3}}, "");
  EXPECT_EQ(Read(&rereading, 0), 3);
  const std::vector<HypothesisId> ids = rereading.Finish(engine_.get());
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_EQ(Next(ids[0]).logit, Next(ids[1]).logit);
  for (const HypothesisId id : ids) engine_->ReleaseHypothesis(id);
}

TEST_F(RereadingTest, RestoresAnyTreeInAnyChunks) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Rereading::Histories histories(1 + random() % 6);
    const int length = 1 + random() % 20;
    for (auto& history : histories) {
      history.push_back(1);
      for (int i = 1; i < length; ++i) history.push_back(random() % 8 == 0);
    }
    Rereading rereading;
    rereading.Begin(engine_.get(), kNoSource, histories, "");
    if (random() % 10 == 0) {
      rereading.Clear(engine_.get());
      continue;
    }
    Read(&rereading, random() % 9);
    const std::vector<HypothesisId> ids = rereading.Finish(engine_.get());
    std::vector<HypothesisId> sorted = ids;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
    for (size_t i = 0; i < ids.size(); ++i) {
      const HypothesisId alone = engine_->AddHypothesis(kNoSource);
      StepPlan plan;
      plan.decode.push_back({alone, histories[i]});
      StepResult result;
      ASSERT_TRUE(engine_->Step(plan, &result).ok());
      EXPECT_EQ(Next(ids[i]).logit, Next(alone).logit);
      engine_->ReleaseHypothesis(alone);
      engine_->ReleaseHypothesis(ids[i]);
    }
  }
  EXPECT_EQ(engine_->free_blocks(), engine_->limits().total_blocks);
}

}  // namespace
}  // namespace trivium
