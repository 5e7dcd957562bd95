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
  // As in Transformers, {0}, a single end token, remains possible.
  EXPECT_THAT(EditsFor(options, {4, 5}, 1).watched, ElementsAre(6, 7, 9));
  EXPECT_THAT(EditsFor(options, {5}, 0).watched, ElementsAre(6, 9));
  EXPECT_THAT(EditsFor(options, {6}, 0).watched, ElementsAre(9));
}

TEST(LogitsRulesTest, WithoutAHistorySequencesWait) {
  DecodingOptions options;
  options.banned_sequences = {{9}, {5, 6}};
  options.no_repeat_ngram_size = 1;
  EXPECT_THAT(EditsFor(options, {}, 0).watched, ElementsAre(9));
}

TEST(LogitsRulesTest, BansTokensThatWouldRepeatAnNgram) {
  DecodingOptions options;
  options.no_repeat_ngram_size = 2;
  EXPECT_THAT(EditsFor(options, {1, 2, 1, 3, 1}, 4).watched, ElementsAre(2, 3));
  EXPECT_THAT(EditsFor(options, {1}, 0).watched, IsEmpty());
  options.no_repeat_ngram_size = 1;
  EXPECT_THAT(EditsFor(options, {3, 1, 3}, 2).watched, ElementsAre(1, 3));
}

TEST(LogitsRulesTest, PenalizesWrittenTokensAndLetsBansWin) {
  DecodingOptions options;
  options.repetition_penalty = 2;
  options.banned_sequences = {{3}};
  const LogitsEdits edits = EditsFor(options, {5, 3, 5}, 2);
  ASSERT_THAT(edits.watched, ElementsAre(3, 5));
  EXPECT_EQ(edits.Apply(0, 7), -INFINITY);
  EXPECT_EQ(edits.Apply(1, 7), 3.5);
  EXPECT_EQ(edits.Apply(1, -7), -14);
}

TEST(LogitsRulesTest, CountsNewTokensAndAddsBiasesFirst) {
  DecodingOptions options;
  options.repetition_penalty = 2;
  options.frequency_penalty = 0.5f;
  options.presence_penalty = 0.25f;
  options.logit_bias = {{5, -3}, {8, 1}};
  // The prompt has the 4 and one 5.
  const LogitsEdits edits = EditsFor(options, {4, 5, 5, 7, 5}, 3);
  ASSERT_THAT(edits.watched, ElementsAre(4, 5, 7, 8));
  EXPECT_EQ(edits.Apply(0, 6), 3);
  EXPECT_EQ(edits.Apply(1, 7), (7 - 3) / 2.0 - 2 * 0.5 - 0.25);
  EXPECT_EQ(edits.Apply(1, 1), (1 - 3) * 2.0 - 2 * 0.5 - 0.25);
  EXPECT_EQ(edits.Apply(2, 6), 3 - 0.5 - 0.25);
  EXPECT_EQ(edits.Apply(3, 6), 7);
}

TEST(LogitsRulesTest, PenaltiesLookAtTheirWindowOnly) {
  DecodingOptions options;
  options.repetition_penalty = 2;
  options.frequency_penalty = 0.5f;
  options.penalty_window = 2;
  // The prompt has the 4 and one 5; of the new tokens, the 6 is too old.
  const std::vector<int32_t> history = {4, 5, 6, 7, 5};
  LogitsEdits edits = EditsFor(options, history, 3);
  ASSERT_THAT(edits.watched, ElementsAre(5, 7));
  EXPECT_EQ(edits.Apply(0, 6), 3 - 0.5);
  // A window that is longer than the new tokens reaches into the prompt, where
  // only repetition counts.
  options.penalty_window = 4;
  edits = EditsFor(options, history, 3);
  ASSERT_THAT(edits.watched, ElementsAre(5, 6, 7));
  EXPECT_EQ(edits.Apply(0, 6), 3 - 0.5);
  edits = EditsFor(options, history, 1);
  ASSERT_THAT(edits.watched, ElementsAre(5, 6, 7));
  EXPECT_EQ(edits.Apply(1, 6), 3);
  options.penalty_window = 100;
  EXPECT_THAT(EditsFor(options, history, 3).watched, ElementsAre(4, 5, 6, 7));
}

TEST(LogitsRulesTest, EndTokensGrowInALongText) {
  DecodingOptions options;
  options.end_ids = {7, 2};
  options.stop_ids = {4};
  options.end_growth_start = 3;
  options.end_growth = 2;
  EXPECT_THAT(EditsFor(options, {0, 1, 1, 1}, 3).watched, IsEmpty());
  const LogitsEdits edits = EditsFor(options, {0, 1, 1, 1, 1, 1}, 5);
  ASSERT_THAT(edits.watched, ElementsAre(2, 7));
  EXPECT_EQ(edits.Apply(0, 6), 6 + 6 * 3);
  EXPECT_EQ(edits.Apply(1, -6), -6 + 6 * 3);

  // Growth comes after the other rules, and stays finite in a text of any
  // length.
  options.repetition_penalty = 2;
  options.suppressed_ids = {7};
  const LogitsEdits both = EditsFor(options, {0, 2, 2, 2, 2}, 4);
  ASSERT_THAT(both.watched, ElementsAre(0, 2, 7));
  EXPECT_EQ(both.Apply(1, -3), -6 + 6);
  EXPECT_EQ(both.Apply(2, -3), -INFINITY);
  options.end_growth = 1000;
  EXPECT_TRUE(std::isfinite(EditsFor(options, {2}, 4000).Apply(0, 5)));
}

TEST(LogitsRulesTest, ReturnsWhyATokenEndsTheText) {
  DecodingOptions options;
  options.end_ids = {7};
  options.stop_ids = {4, 7};
  options.max_new_tokens = 3;
  options.forced_last_id = 4;
  const LogitsRules rules(options);
  EXPECT_EQ(rules.EndOf(7, 1), FinishReason::kEnd);
  EXPECT_EQ(rules.EndOf(4, 1), FinishReason::kStop);
  EXPECT_EQ(rules.EndOf(4, 3), FinishReason::kLength);
  EXPECT_EQ(rules.EndOf(5, 1), std::nullopt);
}

TEST(LogitsRulesTest, StopIdsWaitForTheMinimumToo) {
  DecodingOptions options;
  options.stop_ids = {6};
  options.min_new_tokens = 2;
  EXPECT_THAT(EditsFor(options, {0, 1}, 1).watched, ElementsAre(6));
  EXPECT_THAT(EditsFor(options, {0, 1, 1}, 2).watched, IsEmpty());
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

TEST(LogitsRulesTest, OnlyTheLastTokenOfAllIsForcedAsTheLast) {
  DecodingOptions options;
  options.max_new_tokens = 3;
  options.end_ids = {5};
  EXPECT_EQ(LogitsRules(options).EndOf(5, 3), FinishReason::kEnd);
  options.forced_last_id = 5;
  EXPECT_EQ(LogitsRules(options).EndOf(5, 2), FinishReason::kEnd);
  EXPECT_EQ(LogitsRules(options).EndOf(5, 3), FinishReason::kLength);
}

}  // namespace
}  // namespace trivium
