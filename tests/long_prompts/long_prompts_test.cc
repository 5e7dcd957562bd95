// A prompt of so many tokens that attention over bytes adds up in two parts
// (model/kernels/attention_int8.cc: 65,536 keys, counted from the first) has
// the same bits however it is cut into steps, and when it is read again out of
// kept blocks.
#include <algorithm>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "model/engine.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

constexpr int kTokens = 66'100;
constexpr int64_t kLongCacheBytes = 32 << 20;

RandomTransformer::Shape SmallLlama() {
  RandomTransformer::Shape shape = RandomTransformer::LlamaShape();
  shape.d_model = 16;
  shape.heads = shape.kv_heads = 1;
  shape.head_size = 16;
  shape.window = 0;
  shape.encoder_layers = 0;
  shape.decoder_layers = 1;
  shape.max_positions = 131'072;
  return shape;
}

class LongPromptsTest : public ::testing::TestWithParam<Formats> {
 protected:
  std::unique_ptr<Engine> New() {
    return NewEngine(random_, GetParam(), kLongCacheBytes);
  }

  // The logits after all tokens, read in steps of `chunk()`.
  std::vector<float> Read(Engine* engine, const std::function<int()>& chunk,
                          int* found) {
    const std::span<const int32_t> tokens = tokens_;
    const Engine::Beginning begun = engine->Begin(kNoSource, tokens, "");
    *found = begun.found;
    StepResult result;
    for (int at = begun.found; at < kTokens;) {
      StepPlan plan;
      plan.decode.push_back(
          {.hypothesis = begun.hypothesis,
           .tokens = tokens.subspan(at, std::min(chunk(), kTokens - at)),
           .queries = {&kAllLogits, 1}});
      EXPECT_TRUE(engine->Step(plan, &result).ok());
      at += static_cast<int>(plan.decode[0].tokens.size());
    }
    engine->ReleaseHypothesis(begun.hypothesis);
    const auto all = result.rows[0].logits[0].all;
    return {all.begin(), all.end()};
  }

  const RandomTransformer random_{SmallLlama(), 5};
  const std::vector<int32_t> tokens_ = RandomIds(kTokens, 101, 6);
};

TEST_P(LongPromptsTest, GivesTheSameBitsForAnySteps) {
  const auto even = [] { return 512; };
  std::mt19937 random(7);
  const auto uneven = [&random] {
    return 1 + static_cast<int>(random() % 999);
  };
  int found = -1;
  const auto engine = New();
  const std::vector<float> expected = Read(engine.get(), even, &found);
  EXPECT_EQ(found, 0);
  EXPECT_EQ(Read(New().get(), uneven, &found), expected);
  EXPECT_EQ(found, 0);
  // Warm.
  EXPECT_EQ(Read(engine.get(), uneven, &found), expected);
  EXPECT_EQ(found, (kTokens - 1) / 16 * 16);
}

INSTANTIATE_TEST_SUITE_P(Formats, LongPromptsTest,
                         ::testing::Values(kF32Formats, kInt8Formats));

}  // namespace
}  // namespace trivium
