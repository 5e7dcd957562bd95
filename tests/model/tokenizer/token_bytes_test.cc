#include "model/tokenizer/token_bytes.h"

#include <gmock/gmock.h>

#include "tests/model/tokenizer/tokenizer_test_util.h"

namespace trivium {
namespace {

// The bytes of a text's tokens, joined.
std::string Joined(const Tokenizer& tokenizer, const std::string& text) {
  EncodeOptions options;
  options.add_special_tokens = false;
  const TokenBytes bytes(tokenizer);
  std::string joined;
  const auto encoding = tokenizer.Encode(text, options);
  for (const int32_t id : encoding->ids) {
    const TokenBytes::Bytes one = bytes.Of(id);
    EXPECT_FALSE(one.special) << one.bytes;
    joined += one.bytes;
  }
  return joined;
}

TEST(TokenBytesTest, BytesOfTokensAreTheText) {
  const auto tokenizer = LoadOrDie("tests/integration/chats");
  for (const char* text : {"Hello you, Paris is big.", " two  spaces\n",
                           "na\xC3\xAFve \xE2\x82\xAC \xF0\x9F\x98\x80!"}) {
    EXPECT_EQ(Joined(*tokenizer, text), text);
  }
}

TEST(TokenBytesTest, SpecialTokensHaveTheirNames) {
  const auto tokenizer = LoadOrDie("tests/integration/chats");
  const TokenBytes bytes(*tokenizer);
  const int32_t id = tokenizer->PieceToId("<|im_end|>", TextSide::kTarget);
  ASSERT_GE(id, 0);
  EXPECT_EQ(bytes.Of(id).bytes, "<|im_end|>");
  EXPECT_TRUE(bytes.Of(id).special);
}

TEST(TokenBytesTest, MarianPiecesHaveSpaces) {
  const auto tokenizer = LoadOrDie(kEmbedded);
  const TokenBytes bytes(*tokenizer);
  const int32_t id = tokenizer->PieceToId(
      "\xE2\x96\x81"
      "Haus",
      TextSide::kTarget);
  ASSERT_GE(id, 0);
  EXPECT_EQ(bytes.Of(id).bytes, " Haus");
  EXPECT_FALSE(bytes.Of(id).special);
}

}  // namespace
}  // namespace trivium
