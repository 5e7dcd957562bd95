#include "server/translation/text_edits.h"

#include <gtest/gtest.h>

namespace trivium {
namespace {

TEST(TextEditsTest, EditsAndFindsTheOriginal) {
  // "ab--cd+e" becomes "abcdPLUSe".
  const EditedText edited("ab--cd+e", {{{2, 4}}, {{6, 7}, "PLUS"}});
  EXPECT_EQ(edited.text(), "abcdPLUSe");
  EXPECT_EQ(edited.original(), "ab--cd+e");
  const auto of = [&edited](std::string_view word) {
    const size_t at = edited.text().find(word);
    return edited.InOriginal({at, at + word.size()}).Of(edited.original());
  };
  EXPECT_EQ(of("abcd"), "ab--cd");
  EXPECT_EQ(of("ab"), "ab");
  EXPECT_EQ(of("cd"), "cd");
  EXPECT_EQ(of("PLUS"), "+");
  EXPECT_EQ(of("LU"), "+");
  EXPECT_EQ(of("dPLUSe"), "d+e");
  EXPECT_EQ(of("e"), "e");
}

TEST(TextEditsTest, FindsTheEdited) {
  const EditedText edited("ab--cd+e", {{{2, 4}}, {{6, 7}, "PLUS"}});
  EXPECT_EQ(edited.InEdited(0), 0);
  EXPECT_EQ(edited.InEdited(2), 2);
  EXPECT_EQ(edited.InEdited(3), 2);
  EXPECT_EQ(edited.InEdited(4), 2);
  EXPECT_EQ(edited.InEdited(6), 4);
  EXPECT_EQ(edited.InEdited(7), 8);
  EXPECT_EQ(edited.InEdited(8), 9);
  EXPECT_EQ(edited.InEdited({0, 3}), (TextSpan{0, 2}));
  EXPECT_EQ(edited.InEdited({5, 7}), (TextSpan{3, 8}));
}

TEST(TextEditsTest, EditsAtTheEnds) {
  const EditedText edited("--ab--", {{{0, 2}}, {{4, 6}}});
  EXPECT_EQ(edited.text(), "ab");
  EXPECT_EQ(edited.InOriginal({0, 2}), (TextSpan{2, 4}));
  EXPECT_EQ(EditedText("--", {{{0, 2}}}).InOriginal({0, 0}).begin, 2);
}

}  // namespace
}  // namespace trivium
