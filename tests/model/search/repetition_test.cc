#include "model/search/repetition.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace trivium {
namespace {

// Returns after how many of the tokens the detector ends the text; 0: never.
size_t EndOf(const std::vector<int32_t>& tokens) {
  RepetitionDetector detector;
  for (size_t size = 1; size <= tokens.size(); ++size) {
    if (detector.Add(std::span(tokens).first(size))) return size;
  }
  return 0;
}

std::vector<int32_t> Random(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 50000);
  return tokens;
}

TEST(RepetitionTest, ALoopEndsAfterSixTimesAndAFewDozenTokens) {
  for (const size_t period : {1, 2, 7, 21, 22, 64, 255, 256}) {
    std::vector<int32_t> tokens = Random(100, 1);
    const std::vector<int32_t> loop = Random(period, 2);
    for (int i = 0; i < 3000; ++i) tokens.push_back(loop[i % period]);
    EXPECT_EQ(EndOf(tokens), 100 + std::max<size_t>(128, 6 * period)) << period;
  }
}

TEST(RepetitionTest, LessThanALoopGoesOn) {
  // Five times, then something else.
  std::vector<int32_t> tokens;
  const std::vector<int32_t> verse = Random(40, 3);
  for (int i = 0; i < 5; ++i) {
    tokens.insert(tokens.end(), verse.begin(), verse.end());
  }
  const std::vector<int32_t> rest = Random(500, 4);
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  EXPECT_EQ(EndOf(tokens), 0u);
  // A sequence longer than the longest.
  tokens.clear();
  const std::vector<int32_t> chapter = Random(257, 5);
  for (int i = 0; i < 10; ++i) {
    tokens.insert(tokens.end(), chapter.begin(), chapter.end());
  }
  EXPECT_EQ(EndOf(tokens), 0u);
  // Rows that count: one token of each differs.
  tokens.clear();
  for (int row = 0; row < 200; ++row) {
    for (int i = 0; i < 10; ++i) tokens.push_back(i == 3 ? 1000 + row : i);
  }
  EXPECT_EQ(EndOf(tokens), 0u);
}

}  // namespace
}  // namespace trivium
