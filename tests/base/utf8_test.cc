#include "base/utf8.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

namespace trivium {
namespace {

using namespace std::string_view_literals;

const std::vector<std::string_view>& IllFormed() {
  static const std::vector<std::string_view> texts = {
      "\x80",              // a lone continuation byte
      "\xBF",              // the last one
      "\xC0\x80",          // overlong forms
      "\xC1\xBF",          //
      "\xE0\x80\x80",      //
      "\xE0\x9F\xBF",      //
      "\xF0\x80\x80\x80",  //
      "\xF0\x8F\xBF\xBF",  //
      "\xED\xA0\x80",      // surrogates
      "\xED\xBF\xBF",      //
      "\xF4\x90\x80\x80",  // over U+10FFFF
      "\xF5\x80\x80\x80",  //
      "\xFF",              //
      "\xC2",              // incomplete
      "\xE2\x82",          //
      "\xF0\x9F\x91",      //
      "\xE2\x28\xA1",      // an ASCII letter in the middle
      "\xC3\xC3\xA9"};     // a lead byte in the middle
  return texts;
}

bool IsScalar(char32_t c) { return c < 0xD800 || c > 0xDFFF; }

std::string Utf8Of(char32_t c) {
  std::string text;
  AppendUtf8(c, &text);
  return text;
}

TEST(FirstCodePointTest, ReadsEveryCodePoint) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (!IsScalar(c)) continue;
    const std::string text = Utf8Of(c);
    ASSERT_EQ(text.size(), c < 0x80      ? 1u
                           : c < 0x800   ? 2u
                           : c < 0x10000 ? 3u
                                         : 4u);
    const CodePoint first = FirstCodePoint(text + "\xBF");
    ASSERT_TRUE(first.well_formed) << static_cast<uint32_t>(c);
    ASSERT_EQ(first.value, c);
    ASSERT_EQ(first.size, text.size());
  }
}

TEST(FirstCodePointTest, ConsumesOneByteOfIllFormedText) {
  for (const std::string_view text : IllFormed()) {
    const CodePoint first = FirstCodePoint(text);
    EXPECT_FALSE(first.well_formed) << testing::PrintToString(text);
    EXPECT_EQ(first.value, U'\uFFFD');
    EXPECT_EQ(first.size, 1);
  }
  // A U+FFFD in the text is well-formed.
  EXPECT_TRUE(FirstCodePoint("\uFFFD").well_formed);
}

TEST(FirstCodePointTest, ReadsNothingBeyondTheEnd) {
  const std::string_view whole = "\xF0\x9F\x91\x8B";
  for (size_t size = 1; size < whole.size(); ++size) {
    // A copy of its own, whose end the address sanitizer guards.
    const std::vector<char> cut(whole.begin(), whole.begin() + size);
    const std::string_view text(cut.data(), cut.size());
    EXPECT_EQ(FirstCodePoint(text).size, 1);
    EXPECT_EQ(WholeSize(text), 0u);
    EXPECT_EQ(WholeSize(text.substr(1)), size - 1);
  }
  EXPECT_EQ(FirstCodePoint(whole).value, U'\U0001F44B');
}

TEST(FirstCodePointTest, ReadsNulAsACodePoint) {
  const CodePoint first = FirstCodePoint("\0a"sv);
  EXPECT_TRUE(first.well_formed);
  EXPECT_EQ(first.value, U'\0');
  EXPECT_EQ(first.size, 1);
}

TEST(IsUtf8Test, AcceptsWellFormedText) {
  for (const std::string_view good :
       {""sv, "a"sv, "\0a\x7F"sv, "é€👋"sv, "\u0080\u07FF\u0800\uD7FF\uE000"sv,
        "\uFFFE\uFFFF\U00010000\U0010FFFF"sv}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
}

TEST(IsUtf8Test, RefusesIllFormedBytesAnywhere) {
  for (const std::string_view bad : IllFormed()) {
    const std::string text(bad);
    EXPECT_FALSE(IsUtf8(text)) << testing::PrintToString(text);
    EXPECT_FALSE(IsUtf8("é" + text));
    EXPECT_FALSE(IsUtf8(text + "é"));
  }
}

TEST(IsBlankTest, RecognizesUnicodeWhiteSpace) {
  EXPECT_TRUE(IsBlank(""));
  EXPECT_TRUE(IsBlank(" \t\r\n\v\f\u0085\u00A0\u2003\u2028\u202F\u3000"));
  EXPECT_FALSE(IsBlank("  x"));
  EXPECT_FALSE(IsBlank(" \0"sv));
  EXPECT_FALSE(IsBlank("\u200B"));  // a zero width space is not white space
  EXPECT_FALSE(IsBlank("\x1C"));    // nor is a record separator
  EXPECT_FALSE(IsBlank(" \x85"));   // nor is half a character
  EXPECT_FALSE(IsBlank("\xE2\x80"));
}

TEST(IsContinuationTest, ClassifiesEveryByte) {
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(IsContinuation(static_cast<char>(byte)),
              byte >= 0x80 && byte < 0xC0);
  }
}

TEST(WholeSizeTest, ExcludesAnIncompleteCodePoint) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (!IsScalar(c)) continue;
    const std::string text = "é" + Utf8Of(c);
    ASSERT_EQ(WholeSize(text), text.size());
    for (size_t size = 3; size < text.size(); ++size) {
      ASSERT_EQ(WholeSize(std::string_view(text).substr(0, size)), 2u)
          << static_cast<uint32_t>(c);
    }
  }
}

TEST(WholeSizeTest, IncludesBytesThatCannotBecomeACodePoint) {
  EXPECT_EQ(WholeSize(""), 0u);
  for (const std::string_view text :
       {"\x80"sv, "\xC0"sv, "\xC1\xBF"sv, "\xE0\x9F"sv, "\xED\xA0"sv,
        "\xF0\x8F"sv, "\xF0\x8F\xBF"sv, "\xF4\x90"sv, "\xF5\x80\x80"sv,
        "\xFF"sv, "\xC3\xA9\xA9"sv, "\0"sv}) {
    EXPECT_EQ(WholeSize(text), text.size()) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace trivium
