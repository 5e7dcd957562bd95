#include "model/tokenizer/special_texts.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::pair<size_t, std::string>> All(
    const std::string& text, const std::vector<std::string>& specials) {
  std::vector<std::pair<size_t, std::string>> matches;
  SpecialTextSearch search(text, specials);
  for (auto match = search.Next(); match.begin != std::string::npos;
       match = search.Next()) {
    matches.emplace_back(match.begin, std::string(match.text));
  }
  return matches;
}

TEST(SpecialTextsTest, FindsTheLeftmostThenTheLongest) {
  EXPECT_THAT(All("x</s></s>y<pad>", {"<pad>", "</s>"}),
              ElementsAre(Pair(1, "</s>"), Pair(5, "</s>"), Pair(10, "<pad>")));
  EXPECT_THAT(All("abcd", {"bc", "abc", "ab", "cd"}),
              ElementsAre(Pair(0, "abc")));
  EXPECT_THAT(All("aaaa", {"aa"}), ElementsAre(Pair(0, "aa"), Pair(2, "aa")));
}

TEST(SpecialTextsTest, FindsNothingInOtherTexts) {
  EXPECT_THAT(All("", {"a"}), IsEmpty());
  EXPECT_THAT(All("text", {}), IsEmpty());
  EXPECT_THAT(All("</s", {"</s>"}), IsEmpty());
}

}  // namespace
}  // namespace trivium
