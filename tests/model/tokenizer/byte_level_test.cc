#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/tokenizer/byte_alphabet.h"
#include "nlohmann/json.hpp"
#include "tests/model/tokenizer/tokenizer_test_util.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

constexpr char kSpace[] = "\xC4\xA0";  // the alphabet's space

// All bytes (ids 0 to 255, but in the order of their values), some merges and
// the special tokens.
class ByteLevelTest : public testing::Test {
 protected:
  ByteLevelTest() {
    for (int byte = 0; byte < 256; ++byte) {
      vocabulary_[std::string(CharacterOfByteAlphabet(byte))] = byte;
    }
    int id = 256;
    for (const std::string& piece :
         {std::string("he"), std::string("ll"), std::string("hell"),
          std::string("hello"), kSpace + std::string("h"),
          kSpace + std::string("he"), std::string("<s>"), std::string("</s>"),
          std::string("<mask>"), std::string("[CLS]"), std::string("[SEP]"),
          std::string("<|endoftext|>")}) {
      vocabulary_[piece] = id++;
    }
    WriteVocabulary();
    folder_.Write("merges.txt", std::string("#version: 0.2\nh e\nl l\n") +
                                    "he ll\nhell o\n" + kSpace + " h\n" +
                                    kSpace + "h e\n");
  }
  void WriteVocabulary() {
    folder_.Write("vocab.json", nlohmann::json(vocabulary_).dump());
  }
  void SetFamily(const std::string& family) {
    folder_.Write("config.json", "{\"model_type\": \"" + family + "\"}");
  }
  absl::Status ErrorOf() { return LoadTokenizer(folder_.path()).status(); }

  std::map<std::string, int> vocabulary_;
  ScratchFolder folder_;
};

TEST_F(ByteLevelTest, SplitsWordsLikeGpt2) {
  SetFamily("gpt2");
  const auto tokenizer = LoadOrDie(folder_.path());
  const std::string text = "hello hello  he's\n";
  const auto tokens = tokenizer->Tokenize(text, {}).value();
  // " hello" begins with " h" only after "hello" is complete: merges go by
  // rank.
  EXPECT_EQ(Pieces(tokens), std::string("hello ") + kSpace + " hello " +
                                kSpace + " " + kSpace + " he ' s \xC4\x8A");
  EXPECT_EQ(Offsets(tokens),
            "0-5 5-6 6-11 11-12 12-13 13-15 15-16 16-17 17-18");
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text, {}).value().ids), text);
  EXPECT_THAT(tokenizer->Encode("<|endoftext|>a", {}).value().ids,
              ElementsAre(267, 'a'));
  EXPECT_EQ(tokenizer->special_token_ids().end, 267);
}

TEST_F(ByteLevelTest, EveryByteTokenCoversItsWholeCharacter) {
  const auto tokenizer = LoadOrDie(folder_.path());
  const auto tokens = tokenizer->Tokenize("\xC3\xA9\xE4\xBA\xBA", {}).value();
  // Each byte's token covers its whole character.
  EXPECT_EQ(Offsets(tokens), "0-2 0-2 2-5 2-5 2-5");
  EXPECT_THAT(tokenizer->Encode("\xC3\xA9", {}).value().ids,
              ElementsAre(0xC3, 0xA9));
}

TEST_F(ByteLevelTest, BrokenUtf8BecomesReplacementCharacters) {
  const auto tokenizer = LoadOrDie(folder_.path());
  // Like in the reference, a whole prefix of a character becomes one U+FFFD.
  const std::vector<int32_t> ids = {'a',  0xE4, 0xBA, 'b',  0xFF,
                                    0xC3, 0xA9, 0xF0, 0x9F, 0x98};
  const std::string text = tokenizer->Decode(ids);
  EXPECT_EQ(text,
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD");
  std::string streamed;
  for (const std::string& part : Stream(*tokenizer, ids)) streamed += part;
  EXPECT_EQ(streamed, text);
}

TEST_F(ByteLevelTest, RobertaHasTemplatesAndTrimsOffsets) {
  SetFamily("roberta");
  const auto tokenizer = LoadOrDie(folder_.path());
  const auto tokens =
      tokenizer->TokenizePair("he he", " he <mask>", {}).value();
  std::vector<int32_t> ids;
  for (const Token& token : tokens) {
    ids.push_back(token.id);
    EXPECT_EQ(token.type_id, 0);
  }
  EXPECT_THAT(ids,
              ElementsAre(262, 256, ' ', 256, 263, 263, ' ', 256, 264, 263));
  EXPECT_EQ(Offsets(tokens), "0-0 0-2 3-3 3-5 0-0 0-0 1-1 1-3 4-10 0-0");
}

TEST_F(ByteLevelTest, AddsAPrefixSpace) {
  SetFamily("roberta");
  folder_.Write("tokenizer_config.json", "{\"add_prefix_space\": true}");
  const auto tokenizer = LoadOrDie(folder_.path());
  const auto tokens =
      tokenizer->Tokenize("hx", {.add_special_tokens = false}).value();
  EXPECT_EQ(Pieces(tokens), std::string(kSpace) + "h x");
  EXPECT_EQ(Offsets(tokens), "0-1 1-2");
}

TEST_F(ByteLevelTest, DebertaHasBertsTemplates) {
  SetFamily("deberta");
  const Encoding encoding =
      LoadOrDie(folder_.path())->EncodePair("he", "he", {}).value();
  EXPECT_THAT(encoding.ids, ElementsAre(265, 256, 266, 256, 266));
  EXPECT_THAT(encoding.type_ids, ElementsAre(0, 0, 0, 1, 1));
}

TEST_F(ByteLevelTest, AddsTheBeginTokenIfConfigured) {
  SetFamily("opt");
  folder_.Write("tokenizer_config.json",
                "{\"add_bos_token\": true, \"bos_token\": \"</s>\"}");
  EXPECT_THAT(LoadOrDie(folder_.path())->Encode("he", {}).value().ids,
              ElementsAre(263, 256));
}

TEST_F(ByteLevelTest, NamesAMissingFile) {
  folder_.Remove("vocab.json");
  EXPECT_THAT(ErrorOf(), IsError(StatusCode::kNotFound, "vocab.json"));
}

TEST_F(ByteLevelTest, NamesABrokenFile) {
  folder_.Write("merges.txt", "h e l\n");
  EXPECT_THAT(ErrorOf(), IsError(StatusCode::kInvalidArgument, "merges.txt:1"));
  folder_.Write("merges.txt", "#version: 0.2\nh e\nx y\n");
  EXPECT_THAT(ErrorOf(), IsError(StatusCode::kInvalidArgument, "\"xy\""));
  folder_.Write("merges.txt", "h e</w>\n");
  EXPECT_THAT(ErrorOf(), IsError(StatusCode::kUnimplemented, "openai-gpt"));
  folder_.Write("merges.txt", "");
  vocabulary_.erase("<s>");
  WriteVocabulary();
  SetFamily("roberta");
  EXPECT_THAT(ErrorOf(), IsError(StatusCode::kInvalidArgument, "\"<s>\""));
}

}  // namespace
}  // namespace trivium
