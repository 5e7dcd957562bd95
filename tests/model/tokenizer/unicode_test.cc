#include "model/tokenizer/unicode.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

TEST(UnicodeTest, PythonSpaceEqualsWhatPythonStrips) {
  // [chr(c) for c in range(0x110000) if chr(c).isspace()]
  const std::u32string expected =
      U"\t\n\v\f\r\x1C\x1D\x1E\x1F \u0085\u00A0\u1680\u2000\u2001\u2002\u2003"
      U"\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F"
      U"\u3000";
  std::u32string spaces;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (IsPythonSpace(c)) spaces.push_back(c);
  }
  EXPECT_EQ(spaces, expected);
}

TEST(UnicodeTest, EveryByteHasACharacter) {
  EXPECT_THAT(CharacterOfByte("aé€"), ElementsAre(0, 1, 1, 2, 2, 2, 3));
  // Invalid bytes count as one character each.
  EXPECT_THAT(CharacterOfByte("\xE2\x82x"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(CharacterOfByte(""), ElementsAre(0));
}

}  // namespace
}  // namespace trivium
