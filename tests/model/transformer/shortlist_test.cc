#include "model/transformer/shortlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "fmt/format.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Three source tokens, ten target tokens.
Shortlist::Table Small() {
  return {.offsets = {0, 2, 2, 5},
          .targets = {3, 9, 0, 3, 5},
          .always = {1, 4},
          .pieces = "0123456789abcdef"};
}

std::string ErrorOf(const Shortlist::Table& table) {
  return std::string(
      Shortlist::Create(table, {}, 3, 10, 10).status().message());
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

TEST(ShortlistTest, AllowsWhatItIsToldBesideTheTable) {
  const auto shortlist =
      Shortlist::Create(Small(), std::vector<int32_t>{8, 4, 0}, 3, 10, 10);
  ASSERT_TRUE(shortlist.ok()) << shortlist.status();
  EXPECT_THAT((*shortlist)->TokensOf(std::vector<int32_t>{1}),
              ElementsAre(0, 1, 4, 8));
}

TEST(ShortlistTest, BeyondTheMostNothingIsRestricted) {
  const auto shortlist = Shortlist::Create(Small(), {}, 3, 10, 5);
  ASSERT_TRUE(shortlist.ok());
  EXPECT_THAT((*shortlist)->TokensOf(std::vector<int32_t>{2}),
              ElementsAre(0, 1, 3, 4, 5));
  EXPECT_THAT((*shortlist)->TokensOf(std::vector<int32_t>{2, 0}), IsEmpty());
}

TEST(ShortlistTest, TokensOfLargeVocabularies) {
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
  EXPECT_EQ(ErrorOf(Small()), "");
  Shortlist::Table table = Small();
  table.offsets.pop_back();
  EXPECT_THAT(ErrorOf(table), HasSubstr("offsets has 3 values, but a source "
                                        "vocabulary of 3 needs 4"));
  table = Small();
  table.offsets = {0, 3, 2, 5};
  EXPECT_THAT(ErrorOf(table), HasSubstr("offsets do not ascend"));
  table.offsets = {1, 2, 2, 5};
  EXPECT_THAT(ErrorOf(table), HasSubstr("offsets do not ascend"));
  table.offsets = {0, 2, 2, 6};
  EXPECT_THAT(ErrorOf(table), HasSubstr("offsets do not ascend from 0 to the 5"
                                        " targets"));
  table.offsets = {0, -2, 2, 5};
  EXPECT_THAT(ErrorOf(table), HasSubstr("offsets do not ascend"));
  table = Small();
  table.targets[1] = 10;
  EXPECT_THAT(ErrorOf(table), HasSubstr("token id 10 of the targets of token 0 "
                                        "is outside the target vocabulary"));
  table.targets[1] = -1;
  EXPECT_THAT(ErrorOf(table), HasSubstr("token id -1"));
  table = Small();
  table.targets = {9, 3, 0, 3, 5};
  EXPECT_THAT(ErrorOf(table), HasSubstr("the targets of token 0 has token id 3 "
                                        "after 9; ids must ascend"));
  table = Small();
  table.always = {4, 4};
  EXPECT_THAT(ErrorOf(table), HasSubstr("always has token id 4 after 4"));
  table.always = {4, 11};
  EXPECT_THAT(ErrorOf(table), HasSubstr("token id 11 of always"));
}

std::string Ints(const std::vector<int32_t>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(int32_t));
}

// A file of Small(), `part` of it replaced.
std::string File(const std::string& part = "", const std::string& by = "") {
  const Shortlist::Table table = Small();
  std::string header =
      R"({"offsets":{"dtype":"I32","shape":[4],"data_offsets":[0,16]},)"
      R"("targets":{"dtype":"I32","shape":[5],"data_offsets":[16,36]},)"
      R"("always":{"dtype":"I32","shape":[2],"data_offsets":[36,44]},)"
      R"("pieces":{"dtype":"U8","shape":[16],"data_offsets":[44,60]}})";
  if (!part.empty()) header.replace(header.find(part), part.size(), by);
  return Safetensors(header, Ints(table.offsets) + Ints(table.targets) +
                                 Ints(table.always) + table.pieces);
}

TEST(ShortlistFileTest, ReadsWhatWasWritten) {
  const TemporaryFolder folder;
  folder.Write("list", File());
  const auto table = Shortlist::Read(folder.path() + "/list");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->offsets, Small().offsets);
  EXPECT_EQ(table->targets, Small().targets);
  EXPECT_EQ(table->always, Small().always);
  EXPECT_EQ(table->pieces, Small().pieces);
}

TEST(ShortlistFileTest, ErrorsNameFileAndTensor) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/list";
  EXPECT_TRUE(absl::IsNotFound(Shortlist::Read(path).status()));
  const auto error = [&](const std::string& bytes) {
    folder.Write("list", bytes);
    const absl::Status status = Shortlist::Read(path).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    return std::string(status.message());
  };
  const std::string file = File();
  for (size_t size = 1; size < file.size(); ++size) {
    EXPECT_NE(error(file.substr(0, size)), "") << size;
  }
  EXPECT_THAT(error(File("\"always\"", "\"sometimes\"")),
              HasSubstr("has no tensor always"));
  EXPECT_THAT(error(File("[4]", "[2,2]")),
              HasSubstr("tensor offsets is i32 [2, 2] and must be i32"));
  EXPECT_THAT(error(File(R"("I32","shape":[5])", R"("F32","shape":[5])")),
              HasSubstr("tensor targets is f32"));
}

TEST(ShortlistFileTest, DigestTellsVocabulariesApart) {
  using Pieces = std::vector<std::string>;
  const std::string digest =
      Shortlist::PiecesDigest(Pieces{"a", "bc"}, Pieces{"d"});
  EXPECT_EQ(digest.size(), 16u);
  EXPECT_EQ(digest, Shortlist::PiecesDigest(Pieces{"a", "bc"}, Pieces{"d"}));
  EXPECT_NE(digest, Shortlist::PiecesDigest(Pieces{"ab", "c"}, Pieces{"d"}));
  EXPECT_NE(digest, Shortlist::PiecesDigest(Pieces{"a"}, Pieces{"bc", "d"}));
  EXPECT_NE(digest, Shortlist::PiecesDigest(Pieces{"bc", "a"}, Pieces{"d"}));
}

}  // namespace
}  // namespace trivium
