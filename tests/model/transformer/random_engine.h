#ifndef TRIVIUM_TESTS_MODEL_TRANSFORMER_RANDOM_ENGINE_H_
#define TRIVIUM_TESTS_MODEL_TRANSFORMER_RANDOM_ENGINE_H_

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "gtest/gtest.h"
#include "model/engine.h"
#include "model/transformer/transformer.h"
#include "model/transformer/transformer_engine.h"
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

// Within 1e-4 of the greatest number.
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
