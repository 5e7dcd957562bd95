#include "server/translation/pipeline/known_characters.h"

#include <gtest/gtest.h>

#include "tests/server/translation/pipeline/byte_model.h"
#include "tests/server/translation/pipeline/letter_tokenizer.h"

namespace trivium {
namespace {

TEST(KnownCharactersTest, BytePiecesAreUnknown) {
  const LetterTokenizer tokenizer;
  const KnownCharacters known(tokenizer);
  EXPECT_TRUE(known.Knows(U'a'));
  EXPECT_TRUE(known.Knows(U'ü'));
  EXPECT_TRUE(known.Knows(U'ﬁ'));  // its letters are known
  EXPECT_FALSE(known.Knows(U'ř'));
  EXPECT_FALSE(known.Knows(U'猫'));
  EXPECT_FALSE(known.Knows(U'\U000E0041'));
  EXPECT_FALSE(known.Knows(U'\u0308'));
  EXPECT_TRUE(known.KnowsWord("fu\u0308r"));
  EXPECT_FALSE(known.KnowsWord("c\u030C"));
}

TEST(KnownCharactersTest, ARaisedCharacterThatIsReadAsAPlainOneIsUnknown) {
  const LetterTokenizer tokenizer;
  const KnownCharacters known(tokenizer);
  EXPECT_FALSE(known.Knows(U'²'));
  EXPECT_FALSE(known.Knows(U'™'));
  EXPECT_FALSE(known.Knows(U'½'));
  EXPECT_TRUE(known.KnowsWord("m²"));
  // A vocabulary of bytes reads it as it is.
  EXPECT_TRUE(KnownCharacters::Of(ByteModel().handle())->Knows(U'²'));
}

TEST(KnownCharactersTest, AsksOnce) {
  const LetterTokenizer tokenizer;
  const KnownCharacters known(tokenizer);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(known.Knows(U'ř'));
    EXPECT_TRUE(known.Knows(U'ü'));
    EXPECT_TRUE(known.Knows(U'x'));
  }
  EXPECT_EQ(tokenizer.asked, 2);
}

TEST(KnownCharactersTest, AVocabularyOfBytesKnowsAll) {
  const ByteModel model;
  const auto known = KnownCharacters::Of(model.handle());
  EXPECT_TRUE(known->Knows(U'ř'));
  EXPECT_EQ(KnownCharacters::Of(model.handle()), known);
  EXPECT_NE(KnownCharacters::Of(ByteModel().handle()), known);
}

}  // namespace
}  // namespace trivium
