#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/model/tokenizer/tokenizer_test_util.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

constexpr char kVocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nwor\n##ld\n##s\n!\n,\ncafe\n"
    "caf\xC3\xA9\nHello\n\xE4\xBA\xBA\n\xE9\x83\xBD\na\n##a\nis\n'\n";

class WordPieceTest : public testing::Test {
 protected:
  WordPieceTest() { folder_.Write("vocab.txt", kVocabulary); }

  std::unique_ptr<Tokenizer> Load(const std::string& config = "{}") {
    folder_.Write("tokenizer_config.json", config);
    return LoadOrDie(folder_.path());
  }
  absl::Status ErrorOf() { return LoadTokenizer(folder_.path()).status(); }

  ScratchFolder folder_;
};

TEST_F(WordPieceTest, ReturnsPiecesAndOffsets) {
  const auto tokenizer = Load();
  const auto tokens = tokenizer->Tokenize("Hello worlds!", {}).value();
  EXPECT_EQ(Pieces(tokens), "[CLS] hello wor ##ld ##s ! [SEP]");
  EXPECT_EQ(Offsets(tokens), "0-0 0-5 6-9 9-11 11-12 12-13 0-0");
  EXPECT_TRUE(tokens.front().special);
  EXPECT_FALSE(tokens[1].special);
  EXPECT_EQ(tokens.front().text_index, -1);
  EXPECT_EQ(tokens[1].text_index, 0);
  EXPECT_THAT(tokenizer->Encode("Hello worlds!", {}).value().ids,
              ElementsAre(2, 5, 6, 7, 8, 9, 3));
  EXPECT_EQ(
      Pieces(
          tokenizer->Tokenize("hello", {.add_special_tokens = false}).value()),
      "hello");
  EXPECT_THAT(tokenizer->Encode("", {}).value().ids, ElementsAre(2, 3));
}

TEST_F(WordPieceTest, AWordThatDoesNotFitIsUnknownAsAWhole) {
  const auto tokenizer = Load();
  EXPECT_EQ(Pieces(tokenizer->Tokenize("hellox a", {}).value()),
            "[CLS] [UNK] a [SEP]");
  EXPECT_EQ(Pieces(tokenizer->Tokenize(std::string(100, 'a'), {}).value())
                .substr(0, 13),
            "[CLS] a ##a #");
  EXPECT_EQ(Pieces(tokenizer->Tokenize(std::string(101, 'a'), {}).value()),
            "[CLS] [UNK] [SEP]");
}

TEST_F(WordPieceTest, CleansChineseAndAccentsAsTheConfigurationSays) {
  const auto tokens =
      Load()->Tokenize("CAF\xC3\x89 a\xE4\xBA\xBA\xE9\x83\xBD", {}).value();
  EXPECT_EQ(Pieces(tokens), "[CLS] cafe a \xE4\xBA\xBA \xE9\x83\xBD [SEP]");
  EXPECT_EQ(Offsets(tokens), "0-0 0-5 6-7 7-10 10-13 0-0");
  EXPECT_EQ(tokens[4].char_begin, 7);
  EXPECT_EQ(Pieces(Load("{\"strip_accents\": false}")
                       ->Tokenize("CAF\xC3\x89", {})
                       .value()),
            "[CLS] caf\xC3\xA9 [SEP]");
  EXPECT_EQ(Pieces(Load("{\"do_lower_case\": false}")
                       ->Tokenize("Hello hello caf\xC3\xA9", {})
                       .value()),
            "[CLS] Hello hello caf\xC3\xA9 [SEP]");
  EXPECT_EQ(Pieces(Load("{\"tokenize_chinese_chars\": false}")
                       ->Tokenize("\xE4\xBA\xBA\xE9\x83\xBD", {})
                       .value()),
            "[CLS] [UNK] [SEP]");
  // Control characters are removed, and their surroundings stay one word.
  const auto cleaned =
      Load()->Tokenize("hel\x01lo \xE2\x80\x8Bwor\xC2\xADld", {}).value();
  EXPECT_EQ(Pieces(cleaned), "[CLS] hello wor ##ld [SEP]");
  EXPECT_EQ(Offsets(cleaned), "0-0 0-6 10-13 15-17 0-0");
}

TEST_F(WordPieceTest, PairsHaveSegments) {
  const auto tokenizer = Load();
  const Encoding encoding = tokenizer->EncodePair("a hello", "a", {}).value();
  EXPECT_THAT(encoding.ids, ElementsAre(2, 16, 5, 3, 16, 3));
  EXPECT_THAT(encoding.type_ids, ElementsAre(0, 0, 0, 0, 1, 1));
  const auto tokens = tokenizer->TokenizePair("a hello", "a", {}).value();
  EXPECT_EQ(Offsets(tokens), "0-0 0-1 2-7 0-0 0-1 0-0");
  std::vector<int> text_indices;
  for (const Token& token : tokens) text_indices.push_back(token.text_index);
  EXPECT_THAT(text_indices, ElementsAre(-1, 0, 0, -1, 1, -1));

  // The same from two separately tokenized texts.
  const EncodeOptions bare = {.add_special_tokens = false};
  const auto joined =
      tokenizer
          ->AddSpecialTokens(tokenizer->Tokenize("a hello", bare).value(),
                             tokenizer->Tokenize("a", bare).value())
          .value();
  ASSERT_EQ(joined.size(), tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(joined[i].id, tokens[i].id);
    EXPECT_EQ(joined[i].type_id, tokens[i].type_id);
    EXPECT_EQ(joined[i].text_index, tokens[i].text_index);
    EXPECT_EQ(joined[i].char_end, tokens[i].char_end);
  }
  EXPECT_EQ(tokenizer->special_token_count(true), 3);
  EXPECT_EQ(tokenizer->special_token_count(false), 2);
}

TEST_F(WordPieceTest, TruncatesToTheLimit) {
  const auto tokenizer = Load();
  const Encoding encoding =
      tokenizer->Encode("a hello a hello", {.max_tokens = 4}).value();
  EXPECT_THAT(encoding.ids, ElementsAre(2, 16, 5, 3));
  EXPECT_EQ(encoding.truncated, 2);
  EXPECT_FALSE(tokenizer->Encode("a", {.max_tokens = 1}).ok());
  EXPECT_FALSE(tokenizer->Encode("a", {.max_tokens = -1}).ok());
}

TEST_F(WordPieceTest, TruncatesTheLongerOfAPairFirst) {
  const auto tokenizer = Load();
  const auto lengths = [&](int first, int second, int room) {
    std::string a, b;
    for (int i = 0; i < first; ++i) a += "a ";
    for (int i = 0; i < second; ++i) b += "hello ";
    const Encoding encoding =
        tokenizer->EncodePair(a, b, {.max_tokens = room + 3}).value();
    const auto& ids = encoding.ids;
    const int kept_first =
        static_cast<int>(std::count(ids.begin(), ids.end(), 16));
    const int kept_second =
        static_cast<int>(std::count(ids.begin(), ids.end(), 5));
    EXPECT_EQ(encoding.truncated, first + second - kept_first - kept_second);
    return std::vector<int>{kept_first, kept_second};
  };
  EXPECT_THAT(lengths(3, 4, 7), ElementsAre(3, 4));
  EXPECT_THAT(lengths(3, 9, 7), ElementsAre(3, 4));
  EXPECT_THAT(lengths(9, 2, 7), ElementsAre(5, 2));
  EXPECT_THAT(lengths(9, 9, 7), ElementsAre(3, 4));
  EXPECT_THAT(lengths(9, 8, 7), ElementsAre(4, 3));
  EXPECT_THAT(lengths(9, 9, 1), ElementsAre(0, 1));
  EXPECT_THAT(lengths(2, 2, 0), ElementsAre(0, 0));
}

TEST_F(WordPieceTest, FindsSpecialTokensInATextWithoutParts) {
  const auto tokenizer = Load();
  const auto tokens =
      tokenizer->Tokenize("hello [MASK]! [sep]", {.add_special_tokens = false})
          .value();
  EXPECT_EQ(Pieces(tokens), "hello [MASK] ! [UNK] [UNK] [UNK]");
  EXPECT_TRUE(tokens[1].special);
  const SpecialTokenIds ids = tokenizer->special_token_ids();
  EXPECT_EQ(ids.classification, 2);
  EXPECT_EQ(ids.separator, 3);
  EXPECT_EQ(ids.mask, 4);
  EXPECT_EQ(ids.padding, 0);
  EXPECT_EQ(ids.unknown, 1);
  EXPECT_EQ(ids.begin, -1);
}

TEST_F(WordPieceTest, DropsUsualSpecialTokensThatTheVocabularyLacks) {
  folder_.Write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n");
  auto tokenizer = Load();
  EXPECT_EQ(tokenizer->vocabulary_size(TextSide::kSource), 3);
  EXPECT_EQ(tokenizer->special_token_ids().mask, -1);
  // A token that the folder names is added.
  tokenizer = Load("{\"mask_token\": \"[MASK]\"}");
  EXPECT_EQ(tokenizer->vocabulary_size(TextSide::kSource), 4);
  EXPECT_EQ(tokenizer->special_token_ids().mask, 3);
}

TEST_F(WordPieceTest, FindsAddedTokensOfTheConfiguration) {
  const auto tokenizer = Load(
      "{\"added_tokens_decoder\": {\"21\": {\"content\": \"<new>\", \"lstrip\":"
      " true, \"rstrip\": true, \"special\": true, \"normalized\": false}, "
      "\"20\": {\"content\": \"Word\", \"single_word\": true}}}");
  EXPECT_EQ(tokenizer->vocabulary_size(TextSide::kSource), 22);
  const auto tokens =
      tokenizer->Tokenize("a  <new>  word words", {.add_special_tokens = false})
          .value();
  EXPECT_EQ(Offsets(tokens), "0-1 1-10 10-14 15-20");
  EXPECT_THAT(tokenizer->Encode("a  <new>  word words", {}).value().ids,
              ElementsAre(2, 16, 21, 20, 1, 3));
}

TEST_F(WordPieceTest, DecodesAndStreams) {
  const auto tokenizer = Load();
  const std::vector<int32_t> ids = {2, 5, 6, 7, 8, 9, -1, 99, 10, 5, 19, 8, 3};
  const std::string text = tokenizer->Decode(ids);
  // Spaces are cleaned up piece by piece, so "'" and "s" keep theirs.
  EXPECT_EQ(text, "hello worlds!, hello 's");
  std::string streamed;
  for (const std::string& part : Stream(*tokenizer, ids)) streamed += part;
  EXPECT_EQ(streamed, text);
  EXPECT_EQ(tokenizer->Decode({}), "");
}

TEST_F(WordPieceTest, MpnetHasItsOwnTokens) {
  folder_.Write("config.json", "{\"model_type\": \"mpnet\"}");
  EXPECT_THAT(ErrorOf(), IsError(StatusCode::kInvalidArgument, "<s>"));
  folder_.Write("vocab.txt", std::string(kVocabulary) + "<s>\n</s>\n<mask>\n");
  const Encoding encoding = Load()->EncodePair("a", "a", {}).value();
  EXPECT_THAT(encoding.ids, ElementsAre(20, 16, 21, 21, 16, 21));
  EXPECT_THAT(encoding.type_ids, ElementsAre(0, 0, 0, 0, 1, 1));
}

TEST_F(WordPieceTest, NamesABrokenFile) {
  folder_.Write("vocab.txt", "");
  EXPECT_THAT(ErrorOf(), IsError(StatusCode::kInvalidArgument, "pieces"));
  folder_.Write("vocab.txt", "a\nb\n");
  EXPECT_THAT(ErrorOf(), IsError(StatusCode::kInvalidArgument, "[CLS]"));
  folder_.Write("vocab.txt", kVocabulary);
  folder_.Write("special_tokens_map.json", "[1]");
  EXPECT_THAT(ErrorOf(),
              IsError(StatusCode::kInvalidArgument, "special_tokens_map.json"));
  folder_.Remove("special_tokens_map.json");
  folder_.Write("added_tokens.json", "{\"a\": \"b\"}");
  EXPECT_THAT(ErrorOf(),
              IsError(StatusCode::kInvalidArgument, "added_tokens.json"));
  folder_.Remove("added_tokens.json");
  folder_.Write("tokenizer_config.json",
                "{\"added_tokens_decoder\": {\"x\": {\"content\": \"a\"}}}");
  EXPECT_THAT(ErrorOf(),
              IsError(StatusCode::kInvalidArgument, "added_tokens_decoder"));
}

TEST_F(WordPieceTest, SurvivesInvalidUtf8) {
  const auto tokenizer = Load();
  for (const std::string& text :
       {std::string("\xFF\xFE hello \xC3"), std::string("a\0b", 3),
        std::string("\xE4\xBA"), std::string("\xF0\x9F\x98 a\xED\xA0\x80")}) {
    const auto tokens = tokenizer->Tokenize(text, {}).value();
    for (const Token& token : tokens) {
      EXPECT_LE(token.byte_begin, token.byte_end);
      EXPECT_LE(token.byte_end, static_cast<int>(text.size()));
    }
  }
}

}  // namespace
}  // namespace trivium
