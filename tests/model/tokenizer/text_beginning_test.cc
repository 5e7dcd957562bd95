#include "model/tokenizer/text_beginning.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "gtest/gtest.h"
#include "tests/model/tokenizer/tokenizer_test_util.h"

namespace trivium {
namespace {

// Uses words as tokens and counts the bytes that it tokenizes.
struct Counting {
  absl::StatusOr<std::vector<Token>> operator()(std::string_view text) {
    bytes += text.size();
    EXPECT_TRUE(IsUtf8(text));
    std::vector<Token> tokens;
    size_t at = 0;
    while ((at = text.find_first_not_of(' ', at)) != std::string_view::npos) {
      const size_t end = std::min(text.find(' ', at), text.size());
      Token& token = tokens.emplace_back();
      token.piece = text.substr(at, end - at);
      token.byte_begin = static_cast<int>(at);
      token.byte_end = static_cast<int>(end);
      at = end;
    }
    return tokens;
  }
  std::vector<Token> Of(std::string_view text, int64_t most,
                        bool left = false) {
    EncodeOptions options;
    options.most_tokens = most;
    options.truncate_left = left;
    return *TokenizeEnough(text, options, std::ref(*this), &partial);
  }

  size_t bytes = 0;
  bool partial = false;
};

std::string Words(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "word" + std::to_string(i) + " ";
  return text;
}

TEST(TextBeginningTest, TokenizesShortTextsWhole) {
  Counting counting;
  EXPECT_EQ(counting.Of(Words(500), 10).size(), 500u);
  EXPECT_FALSE(counting.partial);
  EXPECT_EQ(counting.Of(Words(100'000), 0).size(), 100'000u);
  EXPECT_FALSE(counting.partial);
}

TEST(TextBeginningTest, LeavesOutWhatAModelCannotRead) {
  Counting counting;
  const std::vector<Token> tokens = counting.Of(Words(100'000), 512);
  EXPECT_TRUE(counting.partial);
  EXPECT_LT(counting.bytes, 10'000u);
  ASSERT_GT(tokens.size(), 512u);
  for (size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_EQ(tokens[i].piece, "word" + std::to_string(i));
  }
}

// If a text is cut from its beginning, the end is tokenized.
TEST(TextBeginningTest, TokenizesEndingsIfTheBeginningIsCut) {
  Counting counting;
  const std::string text = Words(100'000);
  const std::vector<Token> tokens = counting.Of(text, 512, /*left=*/true);
  EXPECT_TRUE(counting.partial);
  EXPECT_LT(counting.bytes, 10'000u);
  ASSERT_GT(tokens.size(), 512u);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[tokens.size() - 1 - i];
    ASSERT_EQ(token.piece, "word" + std::to_string(99'999 - i));
    // Offsets are those of the whole text.
    ASSERT_EQ(text.substr(token.byte_begin, token.byte_end - token.byte_begin),
              token.piece);
  }
  EXPECT_EQ(counting.Of(Words(500), 10, /*left=*/true).size(), 500u);
  EXPECT_FALSE(counting.partial);
}

TEST(TextBeginningTest, TextsOfFewTokensCostLittleMoreThanThemselves) {
  for (const std::string& text :
       {std::string(1 << 20, ' '), std::string(1 << 20, 'x'),
        std::string(1 << 20, ' ') + Words(1000)}) {
    Counting counting;
    const std::vector<Token> all = counting.Of(text, 0);
    const size_t once = counting.bytes;
    EXPECT_EQ(counting.Of(text, 2000).size(), all.size());
    EXPECT_FALSE(counting.partial);
    EXPECT_LT(counting.bytes - once, text.size() * 3 / 2);
  }
}

TEST(TextBeginningTest, NeverCutsACharacter) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "\xE4\xB8\xAD";
  for (int64_t most = 1; most < 10; ++most) {
    Counting counting;
    counting.Of(text, most);
    counting.Of(text, most, /*left=*/true);
  }
}

TEST(TextBeginningTest, AsksBeforeEachBeginning) {
  Counting counting;
  int asked = 0;
  EncodeOptions options;
  options.most_tokens = 1000;
  options.wanted = [&asked] {
    return ++asked < 3 ? absl::OkStatus() : absl::CancelledError("gone");
  };
  bool partial = false;
  const std::string spaces(1 << 20, ' ');
  EXPECT_TRUE(absl::IsCancelled(
      TokenizeEnough(spaces, options, std::ref(counting), &partial).status()));
  EXPECT_LT(counting.bytes, 100'000u);
}

// The tokens of a beginning are those of the whole text, for every kind.
class BeginningTokensTest : public testing::Test {
 protected:
  static void ExpectSame(const Tokenizer& tokenizer, const std::string& text,
                         int max_tokens) {
    for (const bool left : {false, true}) {
      ExpectSame(tokenizer, text, max_tokens, left);
    }
  }

  static void ExpectSame(const Tokenizer& tokenizer, const std::string& text,
                         int max_tokens, bool left) {
    EncodeOptions options;
    options.max_tokens = max_tokens;
    options.truncate_left = left;
    const Encoding whole = *tokenizer.Encode(text, options);
    options.most_tokens = max_tokens;
    const Encoding some = *tokenizer.Encode(text, options);
    EXPECT_EQ(some.ids, whole.ids);
    EXPECT_FALSE(whole.partial);
    EXPECT_TRUE(some.partial);
    EXPECT_GT(some.truncated, 0);
    EXPECT_LT(some.truncated, whole.truncated);
    options.max_tokens = 0;
    EXPECT_GT(tokenizer.Encode(text, options)->ids.size(),
              static_cast<size_t>(max_tokens));
  }

  static std::string LongText() {
    std::string text;
    for (int i = 0; i < 3000; ++i) {
      text += "Number " + std::to_string(i) + " isn't  it; \xC3\xA9t\xC3\xA9\n";
    }
    return text;
  }
};

TEST_F(BeginningTokensTest, MarianTokensEqualThoseOfTheWholeText) {
  const auto tokenizer = LoadOrDie(kEmbedded);
  ExpectSame(*tokenizer, LongText(), 512, /*left=*/false);
  // In an ending, segmentations that differ only by rounding may swap.
  EncodeOptions options;
  options.max_tokens = 512;
  options.truncate_left = true;
  const Encoding whole = *tokenizer->Encode(LongText(), options);
  options.most_tokens = 512;
  const Encoding some = *tokenizer->Encode(LongText(), options);
  EXPECT_TRUE(some.partial);
  ASSERT_EQ(some.ids.size(), whole.ids.size());
  EXPECT_EQ(tokenizer->Decode(std::span(some.ids).last(200)),
            tokenizer->Decode(std::span(whole.ids).last(200)));
}

TEST_F(BeginningTokensTest, WordPieceTokensEqualThoseOfTheWholeText) {
  const ScratchFolder folder;
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\n;\n'\n";
  for (char c = 'a'; c <= 'z'; ++c) {
    vocabulary += std::string(1, c) + "\n##" + c + "\n";
  }
  for (char c = '0'; c <= '9'; ++c) {
    vocabulary += std::string(1, c) + "\n##" + c + "\n";
  }
  folder.Write("vocab.txt", vocabulary);
  const auto tokenizer = LoadOrDie(folder.path());
  ExpectSame(*tokenizer, LongText(), 512);

  // Pairs in which both texts are far too long.
  EncodeOptions options;
  options.max_tokens = 511;
  const std::string text = LongText();
  const Encoding whole = *tokenizer->EncodePair(text, text, options);
  options.most_tokens = 511;
  const Encoding some = *tokenizer->EncodePair(text, text, options);
  EXPECT_EQ(some.ids, whole.ids);
  EXPECT_TRUE(some.partial);
  options.truncate_left = true;
  const Encoding left = *tokenizer->EncodePair(text, text, options);
  EXPECT_NE(left.ids, whole.ids);
  options.most_tokens = 0;
  EXPECT_EQ(left.ids, tokenizer->EncodePair(text, text, options)->ids);
}

// Cutting a user's text makes no control token of it either.
TEST_F(BeginningTokensTest, LiteralPartsOfAnEndingMakeNoControlTokens) {
  const ScratchFolder folder;
  folder.Write("vocab.txt",
               "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n[\n]\nsep\n");
  const auto tokenizer = LoadOrDie(folder.path());
  std::string user;
  for (int i = 0; i < 20'000; ++i) user += "a [SEP] ";
  const std::vector<TextPart> parts = {
      {"b [SEP]"}, {user, /*literal=*/true}, {"b [SEP] b"}};
  EncodeOptions options;
  options.add_special_tokens = false;
  options.max_tokens = 100;
  options.truncate_left = true;
  const Encoding whole = *tokenizer->EncodeParts(parts, options);
  options.most_tokens = 100;
  const Encoding some = *tokenizer->EncodeParts(parts, options);
  EXPECT_EQ(some.ids, whole.ids);
  EXPECT_TRUE(some.partial);
  const int32_t separator = tokenizer->PieceToId("[SEP]", TextSide::kSource);
  EXPECT_EQ(std::count(some.ids.begin(), some.ids.end(), separator), 1);
  EXPECT_EQ(some.ids.back(), tokenizer->PieceToId("b", TextSide::kSource));
}

}  // namespace
}  // namespace trivium
