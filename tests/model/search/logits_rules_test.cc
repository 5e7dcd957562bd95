#include "model/search/logits_rules.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

LogitsEdits EditsFor(const DecodingOptions& options,
                     const std::vector<int32_t>& history, int new_tokens) {
  LogitsEdits edits;
  LogitsRules(options).EditsAfter(history, new_tokens, &edits);
  return edits;
}

TEST(LogitsRulesTest, NothingIsWatchedWithoutRules) {
  const LogitsEdits edits = EditsFor({}, {1, 2, 3}, 2);
  EXPECT_THAT(edits.watched, IsEmpty());
  EXPECT_FALSE(edits.forced.has_value());
}

TEST(LogitsRulesTest, BansSequencesWhoseBeginningWasWritten) {
  DecodingOptions options;
  options.end_ids = {0};
  options.banned_sequences = {{9}, {0}, {5, 6}, {4, 5, 7}, {3, 5, 8}, {9}};
  // {0} alone is an end token and stays possible, as in Transformers.
  EXPECT_THAT(EditsFor(options, {4, 5}, 1).watched, ElementsAre(6, 7, 9));
  EXPECT_THAT(EditsFor(options, {5}, 0).watched, ElementsAre(6, 9));
  EXPECT_THAT(EditsFor(options, {6}, 0).watched, ElementsAre(9));
}

TEST(LogitsRulesTest, BansWhatWouldRepeatAnNgram) {
  DecodingOptions options;
  options.no_repeat_ngram_size = 2;
  EXPECT_THAT(EditsFor(options, {1, 2, 1, 3, 1}, 4).watched, ElementsAre(2, 3));
  EXPECT_THAT(EditsFor(options, {1}, 0).watched, IsEmpty());
  options.no_repeat_ngram_size = 1;
  EXPECT_THAT(EditsFor(options, {3, 1, 3}, 2).watched, ElementsAre(1, 3));
}

TEST(LogitsRulesTest, PenalizesWhatWasWrittenAndBansWin) {
  DecodingOptions options;
  options.repetition_penalty = 2;
  options.banned_sequences = {{3}};
  const LogitsEdits edits = EditsFor(options, {5, 3, 5}, 2);
  ASSERT_THAT(edits.watched, ElementsAre(3, 5));
  EXPECT_EQ(edits.Apply(0, 7), -INFINITY);
  EXPECT_EQ(edits.Apply(1, 7), 3.5);
  EXPECT_EQ(edits.Apply(1, -7), -14);
}

TEST(LogitsRulesTest, EndTokensWaitForTheMinimum) {
  DecodingOptions options;
  options.end_ids = {7, 2};
  options.min_new_tokens = 2;
  EXPECT_THAT(EditsFor(options, {0, 1}, 1).watched, ElementsAre(2, 7));
  EXPECT_THAT(EditsFor(options, {0, 1, 1}, 2).watched, IsEmpty());
}

TEST(LogitsRulesTest, ForcesTheFirstAndTheLastToken) {
  DecodingOptions options;
  options.max_new_tokens = 3;
  options.forced_first_id = 4;
  options.forced_last_id = 5;
  EXPECT_EQ(EditsFor(options, {0, 9, 9}, 0).forced, 4);
  EXPECT_FALSE(EditsFor(options, {0, 9, 9, 4}, 1).forced.has_value());
  EXPECT_EQ(EditsFor(options, {0, 9, 9, 4, 1}, 2).forced, 5);
  options.max_new_tokens = 1;
  EXPECT_EQ(EditsFor(options, {0}, 0).forced, 5);
}

}  // namespace
}  // namespace trivium
