#include "model/search/stop_strings.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

const std::vector<std::string>& Pieces() {
  static const std::vector<std::string> pieces = {
      "a", "b", "ab", "ba", " ", "", "abc", "c", "\n", "longer piece "};
  return pieces;
}

// Like a tokenizer: drops white space at both ends.
std::string DecodeToy(std::span<const int32_t> ids) {
  std::string text;
  for (const int32_t id : ids) text += Pieces()[id];
  const size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \n") + 1 - begin);
}

TEST(StopStringsTest, FindsTheFirstInTheText) {
  const std::vector<std::string> stops = {"cd", "bc", "abcde"};
  EXPECT_EQ(FindStop("xabcd", stops), 2u);
  EXPECT_EQ(FindStop("xabcde", stops), 1u);
  EXPECT_EQ(FindStop("b c d", stops), std::string::npos);
  EXPECT_EQ(FindStop("", stops), std::string::npos);
}

TEST(StopStringsTest, ValidationNamesTheString) {
  EXPECT_TRUE(ValidateStopStrings({}).ok());
  const std::vector<std::string> empty = {"a", ""};
  EXPECT_THAT(ValidateStopStrings(empty),
              IsError(absl::StatusCode::kInvalidArgument, "stop[1]"));
  const std::vector<std::string> exact = {std::string(256, 'x')};
  EXPECT_TRUE(ValidateStopStrings(exact).ok());
  const std::vector<std::string> longer = {std::string(257, 'x')};
  EXPECT_THAT(ValidateStopStrings(longer),
              IsError(absl::StatusCode::kInvalidArgument, "stop[0]"));
  const std::vector<std::string> many(17, "x");
  EXPECT_THAT(ValidateStopStrings(many),
              IsError(absl::StatusCode::kInvalidArgument, "stop:"));
}

TEST(StopStringsTest, MatcherFindsWhatAWholeDecodeFinds) {
  std::mt19937 random(1);
  const std::vector<std::vector<std::string>> sets = {
      {"abab"},
      {"b b", "\nc"},
      {"piece longer"},
      {std::string("abcabcabcabc"), " c"},
      {"zz"}};
  int matched = 0;
  for (int round = 0; round < 300; ++round) {
    const auto& stops = sets[round % sets.size()];
    const StopStringMatcher matcher(stops, DecodeToy);
    std::vector<int32_t> ids;
    for (int i = 0; i < 300; ++i) {
      // Includes long runs without text.
      const bool blank = (i / 40) % 2 == 1;
      ids.push_back(blank ? 4 + random() % 2 : random() % Pieces().size());
      const bool expected =
          FindStop(DecodeToy(ids), stops) != std::string::npos;
      ASSERT_EQ(matcher.Matches(ids), expected)
          << DecodeToy(ids) << " round " << round << " token " << i;
      matched += expected;
      if (expected) break;
    }
  }
  EXPECT_GT(matched, 50);
}

// Holds for tokens with little text, and for parts that decode differently.
TEST(StopStringsTest, MatcherDecodesNothingWithoutStrings) {
  const StopStringMatcher matcher({}, [](std::span<const int32_t>) {
    ADD_FAILURE() << "nothing can match";
    return std::string();
  });
  EXPECT_FALSE(matcher.Matches(std::vector<int32_t>{0, 1}));
}

TEST(StopStringsTest, MatcherReadsOnlyTheEndOfALongText) {
  std::vector<int32_t> ids;
  size_t read = 0;
  const StopStringMatcher matcher({"?"}, [&](std::span<const int32_t> part) {
    read += part.size();
    return (part.data() == ids.data() ? "" : "?") + DecodeToy(part);
  });
  for (const int32_t id : {5, 0}) {  // "" and "a"
    ids.assign(20'000, id);
    read = 0;
    EXPECT_FALSE(matcher.Matches(ids));
    EXPECT_LT(read, 4000u);
  }
}

TEST(StopStringsTest, FilterCutsAtTheFirstStop) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> stops;
    for (int i = 0; i < 3; ++i) {
      std::string stop;
      const int length = 1 + random() % 4;
      for (int j = 0; j < length; ++j) stop += "ab"[random() % 2];
      stops.push_back(stop + "c");
    }
    StopStringFilter filter(stops, /*keep_stop=*/false);
    StopStringFilter keeps(stops, /*keep_stop=*/true);
    std::string text, streamed, with_stop;
    for (int i = 0; i < 20 && filter.stopped_by() == nullptr; ++i) {
      const std::string piece(1, "abc"[random() % 3]);
      text += piece;
      streamed += filter.Push(piece);
      with_stop += keeps.Push(piece);
    }
    streamed += filter.Finish();
    with_stop += keeps.Finish();
    const size_t found = FindStop(text, stops);
    EXPECT_EQ(streamed, text.substr(0, found));
    EXPECT_EQ(filter.Finish(), "");
    ASSERT_EQ(filter.stopped_by() != nullptr, found != std::string::npos);
    if (filter.stopped_by() == nullptr) {
      EXPECT_EQ(with_stop, text);
      continue;
    }
    EXPECT_EQ(text.substr(found, filter.stopped_by()->size()),
              *filter.stopped_by());
    EXPECT_EQ(with_stop, streamed + *filter.stopped_by());
    EXPECT_EQ(*keeps.stopped_by(), *filter.stopped_by());
  }
}

TEST(StopStringsTest, OfSeveralStopsAtOnePlaceTheFirstOfTheListCounts) {
  StopStringFilter filter({"x", "ab", "a"}, /*keep_stop=*/true);
  EXPECT_EQ(filter.Push("_ab_x"), "_ab");
  EXPECT_EQ(*filter.stopped_by(), "ab");
}

TEST(StopStringsTest, FilterHoldsBackNoMoreThanItMust) {
  StopStringFilter filter({"abc"}, /*keep_stop=*/false);
  EXPECT_EQ(filter.Push("xa"), "x");
  EXPECT_EQ(filter.Push("b"), "");
  EXPECT_EQ(filter.Push("x"), "abx");
  EXPECT_EQ(filter.Push("ab"), "");
  EXPECT_EQ(filter.Push("cd"), "");
  EXPECT_EQ(*filter.stopped_by(), "abc");
  EXPECT_EQ(filter.Push("abc"), "");
}

}  // namespace
}  // namespace trivium
