// Text that is made token by token. Characters that tokens cut in two are held
// back until they are complete, and bytes that are not UTF-8 become U+FFFD.

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/unicode.h"
#include "nlohmann/json.hpp"
#include "tests/model/tokenizer/tokenizer_test_util.h"

namespace trivium {
namespace {

using ::testing::ElementsAre;

using Json = nlohmann::json;

constexpr char kReplacement[] = "\xEF\xBF\xBD";

// Ids are bytes; 256 is the special token "<s>", 257 the added token " word",
// 258 a piece that ends inside an emoji.
class StreamingTest : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> ByteLevel() {
    Json vocabulary;
    for (int byte = 0; byte < 256; ++byte) {
      vocabulary[std::string(CharacterOfByteAlphabet(byte))] = byte;
    }
    std::string piece;
    for (const char c : std::string("a\xF0\x9F")) {
      piece += CharacterOfByteAlphabet(static_cast<uint8_t>(c));
    }
    vocabulary[piece] = 258;
    return Load(
        {{"decoder", {{"type", "ByteLevel"}}},
         {"added_tokens",
          {{{"content", "<s>"}, {"special", true}}, {{"content", " word"}}}},
         {"model",
          {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}},
        {"<s>", " word"});
  }
  // LLaMA's kind: ids are bytes, "<0x00>" and so on; 256 is "\u2581a".
  std::unique_ptr<Tokenizer> ByteFallback() {
    Json vocabulary;
    for (int byte = 0; byte < 256; ++byte) {
      constexpr char kDigits[] = "0123456789ABCDEF";
      vocabulary[std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] +
                 ">"] = byte;
    }
    vocabulary
        ["\xE2\x96\x81"
         "a"] = 256;
    return Load(
        {{"decoder",
          {{"type", "Sequence"},
           {"decoders",
            {{{"type", "Replace"},
              {"pattern", {{"String", "\xE2\x96\x81"}}},
              {"content", " "}},
             {{"type", "ByteFallback"}},
             {{"type", "Fuse"}},
             {{"type", "Strip"}, {"content", " "}, {"start", 1}}}}}},
         {"model",
          {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}},
        {});
  }
  // The added tokens have the ids after the bytes.
  std::unique_ptr<Tokenizer> Load(Json json,
                                  const std::vector<std::string>& added) {
    int id = 256;
    for (const std::string& content : added) {
      json["model"]["vocab"][content] = id++;
    }
    folder_.Write("tokenizer.json", json.dump());
    return LoadOrDie(folder_.path());
  }
  static std::vector<int32_t> Bytes(std::string_view text) {
    std::vector<int32_t> ids;
    for (const char c : text) ids.push_back(static_cast<uint8_t>(c));
    return ids;
  }

  ScratchFolder folder_;
};

TEST_F(StreamingTest, HoldsBackAnEmojiUntilItIsComplete) {
  const auto tokenizer = ByteLevel();
  EXPECT_THAT(Stream(*tokenizer, Bytes("a\xF0\x9F\x98\x80"
                                       "b")),
              ElementsAre("a", "", "", "", "\xF0\x9F\x98\x80", "b", ""));
  EXPECT_THAT(Stream(*tokenizer, std::vector<int32_t>{258, 0x98, 0x80}),
              ElementsAre("a", "", "\xF0\x9F\x98\x80", ""));
  // A special token in between is ignored; text is not.
  EXPECT_THAT(Stream(*tokenizer, std::vector<int32_t>{258, 256, 0x98, 0x80}),
              ElementsAre("a", "", "", "\xF0\x9F\x98\x80", ""));
  EXPECT_THAT(Stream(*tokenizer, std::vector<int32_t>{258, 257}),
              ElementsAre("a", std::string(kReplacement) + " word", ""));
  // The end of a stream settles what is held back.
  EXPECT_THAT(Stream(*tokenizer, std::vector<int32_t>{258}),
              ElementsAre("a", kReplacement));
}

TEST_F(StreamingTest, ReplacesInvalidUtf8LikePython) {
  const auto tokenizer = ByteLevel();
  const std::string r = kReplacement;
  for (const auto& [bytes, text] :
       std::vector<std::pair<std::string, std::string>>{
           {"\x80", r},
           {"\xF0\x9F\x98"
            "a",
            r + "a"},
           {"\xE2\x82\xE2\x82\xAC", r + "\xE2\x82\xAC"},
           {"\xC0\x80", r + r},
           {"\xED\xA0\x80", r + r + r},
           {"\xF5\x80", r + r},
           {"\xF4\x90\x80\x80", r + r + r + r},
           {"\xFF"
            "a\xFE",
            r + "a" + r}}) {
    EXPECT_EQ(tokenizer->Decode(Bytes(bytes)), text);
    std::string streamed;
    for (const std::string& part : Stream(*tokenizer, Bytes(bytes))) {
      EXPECT_TRUE(IsUtf8(part));
      streamed += part;
    }
    EXPECT_EQ(streamed, text);
  }
}

TEST_F(StreamingTest, AnyIdsGiveWholeAndFinalCharacters) {
  std::mt19937 random(1);
  int seed = 0;
  for (const auto& tokenizer : {ByteLevel(), ByteFallback()}) {
    for (; seed % 500 != 499; ++seed) {
      std::vector<int32_t> ids;
      for (int length = random() % 12; length > 0; --length) {
        // Bytes of characters are more likely than others; some ids are out of
        // range.
        static constexpr int kLikely[] = {0xF0, 0x9F, 0x98, 0x80,   0xE2,
                                          0x82, 0xAC, 0x20, 0x61,   256,
                                          257,  258,  -1,   1 << 30};
        ids.push_back(random() % 4 == 0
                          ? static_cast<int>(random() % 256)
                          : kLikely[random() % std::size(kLikely)]);
      }
      std::string streamed;
      for (const std::string& part : Stream(*tokenizer, ids)) {
        EXPECT_TRUE(IsUtf8(part));
        streamed += part;
      }
      EXPECT_EQ(streamed, tokenizer->Decode(ids));
    }
    ++seed;
  }
}

TEST_F(StreamingTest, DecodesARunOfBytesWholeOrNotAtAll) {
  const auto tokenizer = ByteFallback();
  const std::string r = kReplacement;
  std::vector<int32_t> ids = Bytes("\xF0\x9F\x98\x80");
  ids.push_back(256);
  EXPECT_THAT(Stream(*tokenizer, ids),
              ElementsAre("", "", "", "", "\xF0\x9F\x98\x80 a", ""));
  EXPECT_THAT(Stream(*tokenizer, std::vector<int32_t>{256, 0xF0, 256}),
              ElementsAre("a", "", r + " a", ""));
  EXPECT_THAT(Stream(*tokenizer, Bytes("\xF0\x9F")),
              ElementsAre("", "", r + r));
}

}  // namespace
}  // namespace trivium
