#include "server/calls/answer_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_texts.h"
#include "tests/support/puppet_model.h"

namespace trivium {
namespace {

using testing::ElementsAre;

// The puppet joins pairs as QUESTION 0 CONTEXT 0; a letter is a token.
class AnswerWindowsTest : public testing::Test {
 protected:
  AnswerWindowsTest() { tokenizer_.pairs = true; }

  absl::StatusOr<AnswerWindows> Cut(std::string_view question,
                                    std::string_view context, int max_tokens,
                                    int overlap, int max_windows = 10) {
    return AnswerWindows::Cut(tokenizer_, question, context,
                              {.max_tokens = max_tokens,
                               .overlap = overlap,
                               .max_windows = max_windows});
  }
  static std::vector<FoundAnswer> Find(
      const AnswerWindows& windows,
      const std::vector<std::vector<float>>& logits,
      const AnswerOptions& options) {
    AnswerSearch search(options);
    for (size_t i = 0; i < logits.size(); ++i) {
      search.Add(windows.windows[i], logits[i]);
    }
    return search.Finish();
  }
  std::string Text(const AnswerWindows::Window& window) const {
    return tokenizer_.Decode(window.input.ids);
  }

  static auto InvalidAt(const char* place) {
    return IsError(absl::StatusCode::kInvalidArgument, place);
  }

  PuppetTokenizer tokenizer_;
};

TEST_F(AnswerWindowsTest, AShortContextFitsOneWindow) {
  const auto windows = Cut("q", "abc", 6, 2);
  ASSERT_TRUE(windows.ok()) << windows.status();
  ASSERT_EQ(windows->windows.size(), 1u);
  const AnswerWindows::Window& window = windows->windows[0];
  const Encoding pair = *tokenizer_.EncodePair("q", "abc", {});
  EXPECT_EQ(window.input.ids, pair.ids);
  EXPECT_EQ(window.input.type_ids, pair.type_ids);
  EXPECT_EQ(window.offset, 2);
  EXPECT_EQ(window.count, 3);
}

TEST_F(AnswerWindowsTest, LongContextsAreReadInOverlappingWindows) {
  const auto windows = Cut("q", "abcdefghij", 7, 1);  // room for 4
  ASSERT_TRUE(windows.ok()) << windows.status();
  std::vector<std::string> texts;
  for (const auto& window : windows->windows) {
    texts.push_back(Text(window));
    EXPECT_LE(window.input.ids.size(), 7u);
    EXPECT_EQ(window.input.ids.size(), window.input.type_ids.size());
    EXPECT_EQ(window.input.type_ids.back(), 1);
    EXPECT_EQ(window.input.ids.back(), 0);
  }
  EXPECT_THAT(texts, ElementsAre("qabcd", "qdefg", "qghij"));
  // An overlap of more than half a window would hardly advance.
  const auto dense = Cut("q", "abcdefghij", 7, 100);
  ASSERT_TRUE(dense.ok());
  EXPECT_EQ(dense->windows.size(), 4u);
  EXPECT_EQ(dense->windows[1].begin, 2);
}

TEST_F(AnswerWindowsTest, RefusesTextsWithoutTokensOrRoom) {
  EXPECT_THAT(Cut("", "abc", 9, 1), InvalidAt("question"));
  EXPECT_THAT(Cut("q", "", 9, 1), InvalidAt("context"));
  EXPECT_THAT(Cut("qqqqqqq", "abc", 9, 1), InvalidAt("9"));
}

TEST_F(AnswerWindowsTest, MoreWindowsThanTheLimitAreRefused) {
  // Room for 4 tokens, of which 1 is shared: 3 windows hold 10.
  EXPECT_EQ(Cut("q", "abcdefghij", 7, 1, 3)->windows.size(), 3u);
  const absl::Status status = Cut("q", "abcdefghijk", 7, 1, 3).status();
  EXPECT_THAT(status, InvalidAt("4 windows"));
  EXPECT_THAT(status, InvalidAt("overlap"));
  // Each window has room for one token of the context.
  EXPECT_THAT(Cut("qqqq", std::string(1000, 'x'), 7, 1, 512),
              InvalidAt("1000 windows"));
}

TEST_F(AnswerWindowsTest, ChecksThatTheCallIsAlive) {
  const auto windows = AnswerWindows::Cut(
      tokenizer_, "q", "abc",
      {.max_tokens = 9, .overlap = 1, .max_windows = 1, .check_alive = [] {
         return absl::CancelledError("gone");
       }});
  EXPECT_TRUE(absl::IsCancelled(windows.status()));
}

// Logits that are 0 except for those of the tokens where an answer starts and
// ends.
std::vector<float> Peaks(const AnswerWindows::Window& window, int start,
                         int end, float height) {
  std::vector<float> logits(2 * window.input.ids.size(), 0);
  logits[2 * (window.offset + start)] = height;
  logits[2 * (window.offset + end) + 1] = height;
  return logits;
}

TEST_F(AnswerWindowsTest, FindsTheBestOfAllWindows) {
  const auto cut = Cut("q", "abcdefghij", 7, 1);
  ASSERT_TRUE(cut.ok());
  const auto& windows = cut->windows;
  const std::vector<std::vector<float>> logits = {
      Peaks(windows[0], 1, 2, 3), Peaks(windows[1], 0, 1, 5),
      Peaks(windows[2], 2, 0, 9)};  // ends before it starts
  const auto found = Find(*cut, logits, {.top = 2, .max_tokens = 3});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].begin, 3);
  EXPECT_EQ(found[0].end, 5);
  // The softmax is over the window's first token and the four tokens of its
  // context.
  const double p = std::exp(5.0) / (std::exp(5.0) + 4);
  EXPECT_NEAR(found[0].score, p * p, 1e-6);
  EXPECT_EQ(found[1].begin, 1);
  EXPECT_EQ(found[1].end, 3);
  // With a smaller max_tokens, the best pair of start and end is no answer.
  for (const FoundAnswer& answer :
       Find(*cut, logits, {.top = 50, .max_tokens = 1})) {
    EXPECT_EQ(answer.end - answer.begin, 1);
  }
}

TEST_F(AnswerWindowsTest, TheFirstTokenScoresThatThereIsNoAnswer) {
  const auto cut = Cut("q", "abc", 9, 1);
  ASSERT_TRUE(cut.ok());
  std::vector<float> logits = Peaks(cut->windows[0], 0, 0, 2);
  logits[0] = logits[1] = 4;
  const auto found = Find(*cut, {logits}, {.top = 2, .no_answer = true});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].no_answer);
  EXPECT_FALSE(found[1].no_answer);
  EXPECT_FALSE(Find(*cut, {logits}, {.top = 1}).front().no_answer);
}

}  // namespace
}  // namespace trivium
