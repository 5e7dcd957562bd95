#include "server/batching/prompt_lookup.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

// Returns the match after each token of `history`.
size_t MatchAfter(const std::vector<int32_t>& history) {
  PromptLookup lookup(history.size());
  for (size_t i = 1; i <= history.size(); ++i) {
    lookup.Update(std::span(history).first(i));
  }
  PromptLookup at_once(history.size());
  at_once.Update(history);
  EXPECT_EQ(lookup.match(), at_once.match());
  EXPECT_EQ(lookup.hit_rate(), at_once.hit_rate());
  return lookup.match();
}

TEST(PromptLookupTest, FindsWhatFollowedTheLastTokens) {
  EXPECT_EQ(MatchAfter({}), 0u);
  EXPECT_EQ(MatchAfter({1, 2, 3, 4, 5}), 0u);
  EXPECT_EQ(MatchAfter({1, 2, 3, 4, 5, 2, 3}), 0u);
  EXPECT_EQ(MatchAfter({1, 2, 3, 4, 5, 2, 3, 4}), 4u);
  EXPECT_EQ(MatchAfter({1, 2, 3, 4, 5, 2, 3, 4, 5}), 5u);
  EXPECT_EQ(MatchAfter({1, 2, 3, 4, 5, 2, 3, 4, 9}), 0u);
  EXPECT_EQ(MatchAfter({7, 7, 7, 7}), 3u);
  // The latest occurrence wins, but a copy under way continues.
  EXPECT_EQ(MatchAfter({1, 2, 3, 4, 0, 1, 2, 3, 5, 0, 1, 2, 3}), 8u);
  EXPECT_EQ(MatchAfter({8, 1, 2, 3, 0, 1, 2, 3, 5, 8, 1, 2, 3}), 4u);
}

TEST(PromptLookupTest, MeasuresItsHitRate) {
  std::vector<int32_t> text = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3};
  PromptLookup lookup(100);
  lookup.Update(text);
  EXPECT_EQ(lookup.hit_rate(), 0.5);
  for (int i = 4; i <= 10; ++i) {
    text.push_back(i);
    const double before = lookup.hit_rate();
    lookup.Update(text);
    EXPECT_GT(lookup.hit_rate(), before);
  }
  EXPECT_GT(lookup.hit_rate(), 0.9);
  text.push_back(99);  // instead of 1
  lookup.Update(text);
  EXPECT_LT(lookup.hit_rate(), 0.75);
  EXPECT_EQ(lookup.match(), 0u);
  lookup.ResetHitRate();
  EXPECT_EQ(lookup.hit_rate(), 0.5);
}

// Compares with a search of the whole history, whatever collides in the table.
TEST(PromptLookupTest, CollisionsNeverGiveAWrongMatch) {
  std::mt19937 random(4);
  for (const size_t expected : {size_t{1}, size_t{64}, size_t{4096}}) {
    PromptLookup lookup(expected);
    std::vector<int32_t> text;
    int matches = 0;
    for (int i = 0; i < 4000; ++i) {
      text.push_back(static_cast<int32_t>(random() % 7));
      lookup.Update(text);
      const size_t match = lookup.match();
      if (match == 0) continue;
      ++matches;
      ASSERT_LT(match, text.size());
      for (size_t back = 1; back <= 3; ++back) {
        ASSERT_EQ(text[match - back], text[text.size() - back]);
      }
    }
    EXPECT_GT(matches, expected > 1 ? 2000 : 0);
  }
}

}  // namespace
}  // namespace trivium
