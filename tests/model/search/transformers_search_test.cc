// Compares searches with Transformers itself, with its own processors and
// warpers in its own order.
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/search/decoding.h"
#include "tests/model/search/toy_model.h"

namespace trivium {
namespace {

struct TransformersCase {
  void (*set)(DecodingOptions*);
  std::vector<int32_t> expected;
};

#include "tests/model/search/transformers_cases.inc"

TEST(TransformersCasesTest, ChoosesTheSameTokensAsTransformers) {
  ToyModel model{.vocabulary = static_cast<int>(kTable.size())};
  model.table = kTable;
  for (size_t i = 0; i < kCases.size(); ++i) {
    SCOPED_TRACE(i);
    DecodingOptions options;
    kCases[i].set(&options);
    options.max_new_tokens = kMaxNewTokens;
    options.end_ids = {kEnd};
    options.seed = i;
    const std::vector<Hypothesis> results =
        RunSearch(options, kPrompt, nullptr, model);
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].ids, kCases[i].expected);
    EXPECT_EQ(results[0].reason, kCases[i].expected.back() == kEnd
                                     ? FinishReason::kEnd
                                     : FinishReason::kLength);
  }
}

// Otherwise rules without effect would pass.
TEST(TransformersCasesTest, EveryCaseDiffersFromTheFirstOfItsKind) {
  int greedy = 0, sampled = 0;
  for (const TransformersCase& one : kCases) {
    DecodingOptions options;
    one.set(&options);
    greedy += !options.sample && one.expected != kCases[0].expected;
    sampled += options.sample && one.expected.size() > 3;
  }
  EXPECT_GE(greedy, 5);
  EXPECT_GE(sampled, 5);
}

}  // namespace
}  // namespace trivium
