#include "model/transformer/shortlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::IsEmpty;

// Three source tokens, ten target tokens.
Shortlist::Table Small() {
  return {
      .offsets = {0, 2, 2, 5}, .targets = {3, 9, 0, 3, 5}, .always = {1, 4}};
}

absl::Status ErrorOf(const Shortlist::Table& table) {
  return Shortlist::Create(table, {}, 3, 10, 10).status();
}

TEST(ShortlistTest, TokensAreTheUnionInOrder) {
  const auto shortlist = Shortlist::Create(Small(), {}, 3, 10, 10);
  ASSERT_TRUE(shortlist.ok()) << shortlist.status();
  const auto tokens = [&](const std::vector<int32_t>& source) {
    return (*shortlist)->TokensOf(source);
  };
  EXPECT_THAT(tokens({1}), ElementsAre(1, 4));
  EXPECT_THAT(tokens({0}), ElementsAre(1, 3, 4, 9));
  EXPECT_THAT(tokens({2, 0, 0, 1}), ElementsAre(0, 1, 3, 4, 5, 9));
  EXPECT_THAT(tokens({0, 2}), ElementsAre(0, 1, 3, 4, 5, 9));
}

TEST(ShortlistTest, AllowsAdditionalTokens) {
  const auto shortlist =
      Shortlist::Create(Small(), std::vector<int32_t>{8, 4, 0}, 3, 10, 10);
  ASSERT_TRUE(shortlist.ok()) << shortlist.status();
  EXPECT_THAT((*shortlist)->TokensOf(std::vector<int32_t>{1}),
              ElementsAre(0, 1, 4, 8));
}

TEST(ShortlistTest, FillsUpToAMultipleOfEight) {
  Shortlist::Table table = Small();
  table.fill_from = 2;
  const auto shortlist = Shortlist::Create(table, {}, 3, 10, 5);
  ASSERT_TRUE(shortlist.ok()) << shortlist.status();
  const auto tokens = [&](const std::vector<int32_t>& source) {
    return (*shortlist)->TokensOf(source);
  };
  EXPECT_THAT(tokens({1}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(tokens({0}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 9));
  EXPECT_THAT(tokens({2, 0}), IsEmpty());
  // There are no more tokens to add.
  table.fill_from = 7;
  const auto few = Shortlist::Create(table, {}, 3, 10, 5);
  ASSERT_TRUE(few.ok()) << few.status();
  EXPECT_THAT((*few)->TokensOf(std::vector<int32_t>{1}),
              ElementsAre(1, 4, 7, 8, 9));
}

TEST(ShortlistTest, DoesNotRestrictSourcesWithTooManyTokens) {
  const auto shortlist = Shortlist::Create(Small(), {}, 3, 10, 5);
  ASSERT_TRUE(shortlist.ok());
  EXPECT_THAT((*shortlist)->TokensOf(std::vector<int32_t>{2}),
              ElementsAre(0, 1, 3, 4, 5));
  EXPECT_THAT((*shortlist)->TokensOf(std::vector<int32_t>{2, 0}), IsEmpty());
}

TEST(ShortlistTest, ListsTokensOfLargeVocabularies) {
  Shortlist::Table table;
  table.offsets = {0, 4};
  table.targets = {0, 63, 64, 1000};
  table.always = {127, 999};
  const auto shortlist = Shortlist::Create(table, {}, 1, 1001, 1001);
  ASSERT_TRUE(shortlist.ok()) << shortlist.status();
  EXPECT_THAT((*shortlist)->TokensOf(std::vector<int32_t>{0}),
              ElementsAre(0, 63, 64, 127, 999, 1000));
}

TEST(ShortlistTest, RefusesTablesThatDoNotFit) {
  EXPECT_EQ(ErrorOf(Small()), absl::OkStatus());
  Shortlist::Table table = Small();
  table.offsets.pop_back();
  EXPECT_THAT(ErrorOf(table),
              IsError(StatusCode::kInvalidArgument, "vocabulary"));
  table = Small();
  table.offsets = {0, 3, 2, 5};
  EXPECT_THAT(ErrorOf(table), IsError(StatusCode::kInvalidArgument, "offsets"));
  table.offsets = {1, 2, 2, 5};
  EXPECT_THAT(ErrorOf(table), IsError(StatusCode::kInvalidArgument, "offsets"));
  table.offsets = {0, 2, 2, 6};
  EXPECT_THAT(ErrorOf(table), IsError(StatusCode::kInvalidArgument, "offsets"));
  table.offsets = {0, -2, 2, 5};
  EXPECT_THAT(ErrorOf(table), IsError(StatusCode::kInvalidArgument, "offsets"));
  table = Small();
  table.targets[1] = 10;
  EXPECT_THAT(ErrorOf(table), IsError(StatusCode::kInvalidArgument, "10"));
  table.targets[1] = -1;
  EXPECT_THAT(ErrorOf(table), IsError(StatusCode::kInvalidArgument, "-1"));
  table = Small();
  table.targets = {9, 3, 0, 3, 5};
  EXPECT_THAT(ErrorOf(table), IsError(StatusCode::kInvalidArgument, "9"));
  table = Small();
  table.always = {4, 4};
  EXPECT_THAT(ErrorOf(table), IsError(StatusCode::kInvalidArgument, "always"));
  table.always = {4, 11};
  EXPECT_THAT(ErrorOf(table), IsError(StatusCode::kInvalidArgument, "11"));
}

}  // namespace
}  // namespace trivium
