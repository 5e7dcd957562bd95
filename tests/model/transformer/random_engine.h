#ifndef TRIVIUM_TESTS_MODEL_TRANSFORMER_RANDOM_ENGINE_H_
#define TRIVIUM_TESTS_MODEL_TRANSFORMER_RANDOM_ENGINE_H_

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "model/engine.h"
#include "model/transformer/transformer.h"
#include "model/transformer/transformer_engine.h"
#include "tests/support/generate.h"
#include "tests/support/random_transformer.h"

namespace trivium {

inline std::unique_ptr<Engine> NewEngine(
    const TransformerDescription& description, const Formats& formats,
    int64_t cache_bytes = 4 << 20) {
  auto transformer = Transformer::Create(description, formats);
  EXPECT_TRUE(transformer.ok()) << transformer.status();
  auto engine = TransformerEngine::Create(*transformer, cache_bytes);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return *std::move(engine);
}

inline std::unique_ptr<Engine> NewEngine(const RandomTransformer& random,
                                         const Formats& formats,
                                         int64_t cache_bytes = 4 << 20) {
  return NewEngine(random.description(), formats, cache_bytes);
}

inline std::vector<int32_t> RandomIds(int count, int vocabulary,
                                      uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<int32_t> ids(count);
  for (int32_t& id : ids) id = static_cast<int32_t>(generator() % vocabulary);
  return ids;
}

// Reads `targets` in chunks of `step` tokens; returns the logits of the last
// token of each.
inline std::vector<std::vector<float>> Decode(Engine* engine, SourceId source,
                                              std::span<const int32_t> targets,
                                              size_t step) {
  const HypothesisId hypothesis = engine->AddHypothesis(source);
  std::vector<std::vector<float>> logits;
  StepResult result;
  for (size_t at = 0; at < targets.size(); at += step) {
    StepPlan plan;
    plan.decode.push_back(
        {.hypothesis = hypothesis,
         .tokens = targets.subspan(at, std::min(step, targets.size() - at)),
         .queries = {&kAllLogits, 1}});
    EXPECT_TRUE(engine->Step(plan, &result).ok());
    const auto all = result.rows[0].logits[0].all;
    logits.emplace_back(all.begin(), all.end());
  }
  engine->ReleaseHypothesis(hypothesis);
  return logits;
}

// Expects equality within 1e-4 of the greatest number.
template <typename Expected>
void ExpectClose(std::span<const float> actual, const Expected& expected,
                 const char* what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double most = 0;
  for (const double value : expected) most = std::max(most, std::fabs(value));
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 1e-4 * most) << what << " at " << i;
  }
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_TRANSFORMER_RANDOM_ENGINE_H_
